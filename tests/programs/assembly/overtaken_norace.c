/*
 * Assembly reads what one thread stored; before its hook has learnt of that, a second thread, which knows nothing of
 * the first, stores as well. The hook is called here as the compiler's plugin would call it.
 */
#include "../order.h"

#include <stddef.h>

extern void __railbird_asm_acquire(void *address, size_t bytes);

static int word;
int RB_APART data;

RB_UNSEEN int read_word(void)
{
    int now;

    __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(word) : "memory");
    return now;
}

static void first(void)
{
    rb_await(1);
    data = 1;
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    rb_reach(2);
}

static void other(void)
{
    rb_await(3);
    __atomic_store_n(&word, 2, __ATOMIC_RELEASE);
    rb_reach(4);
}

static void second(void)
{
    read_word();
    __railbird_asm_acquire(&word, sizeof(word)); /* from here on the order of assembly counts */
    rb_reach(1);
    rb_await(2);
    RB_CHECK(read_word() == 1);
    rb_reach(3);
    rb_await(4);
    __railbird_asm_acquire(&word, sizeof(word));
    data = 2;
}

int main(void)
{
    return rb_three(first, other, second);
}
