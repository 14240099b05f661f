/*
 * A release store that has nothing new to say, after another thread's release stores took the place of the
 * first: who reads its value synchronizes with all that the thread did before.
 */
#include "../order.h"
#include <stdatomic.h>

enum { ROUNDS = 100, STORES = 8 };
int data[ROUNDS], other[STORES];
atomic_int flag[ROUNDS];

static void first(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        data[i] = 1;
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
        RB_CHECK(atomic_load_explicit(&flag[i], memory_order_acquire) == 2);
        data[i] = 2;
    }
}

int main(void)
{
    return rb_three(first, second, third);
}
