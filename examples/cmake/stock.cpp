#include <cstdio>
#include <thread>

#include "shelf.h"

int main()
{
    Shelf shelf;
    auto fill = [&shelf](int thing) {
        for (int i = 0; i < 100; i++)
            shelf.add(thing);
    };
    std::thread one(fill, 1), two(fill, 2);

    one.join();
    two.join();
    std::printf("%d things on the shelf\n", shelf.total());
}
