/* std::call_once of a function that throws orders nobody who does not call it. */
#include "../order.h"
#include <mutex>

static std::once_flag flag;
int data;

static void first(void)
{
    try {
        std::call_once(flag, [] {
            data = 1; /* RACE 1 */
            throw 1;
        });
    } catch (int) {
    }
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
