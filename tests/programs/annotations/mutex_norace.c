/* A lock of the program's own making, annotated. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

int data;
RB_APART int one, two;

RB_UNSEEN void set(int *word, int value)
{
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*word) : : "memory");
}

static void lock(int *word)
{
    __tsan_mutex_pre_lock(word, 0);
    set(word, 1); /* never contended here */
    __tsan_mutex_post_lock(word, 0, 0);
}

static void unlock(int *word)
{
    __tsan_mutex_pre_unlock(word, 0);
    set(word, 0);
    __tsan_mutex_post_unlock(word, 0);
}

static void first(void)
{
    lock(&one);
    data = 1;
    unlock(&one);
    rb_reach(1);
}

static void second(void)
{
    int *mine = &one;

    rb_await(1);
    lock(mine);
    data = 2;
    unlock(mine);
}

int main(void)
{
    __tsan_mutex_create(&one, 0);
    __tsan_mutex_create(&two, 0);
    rb_both(first, second);
    __tsan_mutex_destroy(&one, 0);
    __tsan_mutex_destroy(&two, 0);
    return 0;
}
