/* Release to one flag, acquire of another. */
#include "../order.h"
#include <stdatomic.h>

int data;
_Alignas(8) atomic_int flags[2];

static void first(void)
{
    data = 1; /* RACE 1 */
    atomic_store_explicit(&flags[0], 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(atomic_load_explicit(&flags[1], memory_order_acquire));
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
