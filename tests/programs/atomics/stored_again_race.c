/* As in the program without the race, but nobody acquires: the last store orders nothing. */
#include "../order.h"
#include <stdatomic.h>

enum { ROUNDS = 100, STORES = 8 };
int data[ROUNDS], other[STORES];
atomic_int flag[ROUNDS];

static void first(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        data[i] = 1; /* RACE 1 */
        atomic_store_explicit(&flag[i], 1, memory_order_release);
        rb_reach(3 * i + 1);
        rb_await(3 * i + 2);
        atomic_store_explicit(&flag[i], 2, memory_order_release);
        rb_reach(3 * i + 3);
    }
}

static void second(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        rb_await(3 * i + 1);
        for (int j = 0; j < STORES; j++) {
            other[j] = i;
            atomic_store_explicit(&flag[i], 3, memory_order_release);
        }
        rb_reach(3 * i + 2);
    }
}

static void third(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        rb_await(3 * i + 3);
        RB_CHECK(atomic_load_explicit(&flag[i], memory_order_relaxed) == 2);
        data[i] = 2; /* RACE 2 */
    }
}

int main(void)
{
    return rb_three(first, second, third);
}
