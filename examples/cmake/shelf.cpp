// Who puts things on the shelf has it for himself, thing by thing; the number of changes belongs to all.
#include "shelf.h"

void Shelf::add(int thing)
{
    count[thing % 8]++;
    changes++; // the race
}

int Shelf::total() const
{
    int sum = 0;

    for (int n : count)
        sum += n;
    return sum;
}
