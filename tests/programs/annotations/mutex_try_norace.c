/* A try that succeeded is an edge. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

#define RESULT 0
int data;
RB_APART int word;

static void first(void)
{
    __tsan_mutex_pre_lock(&word, 0);
    __tsan_mutex_post_lock(&word, 0, 0);
    data = 1;
    __tsan_mutex_pre_unlock(&word, 0);
    __tsan_mutex_post_unlock(&word, 0);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_mutex_pre_lock(&word, __tsan_mutex_try_lock);
    __tsan_mutex_post_lock(&word, __tsan_mutex_try_lock | RESULT, 0);
    data = 2;
    __tsan_mutex_pre_unlock(&word, 0);
    __tsan_mutex_post_unlock(&word, 0);
}

int main(void)
{
    return rb_both(first, second);
}
