/* Readers of an annotated lock are not ordered with each other: one that writes races. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

#define KIND __tsan_mutex_read_lock
int data;
RB_APART int word;

static void first(void)
{
    __tsan_mutex_pre_lock(&word, __tsan_mutex_read_lock);
    __tsan_mutex_post_lock(&word, __tsan_mutex_read_lock, 0);
    rb_use(data); /* RACE 1 */
    __tsan_mutex_pre_unlock(&word, __tsan_mutex_read_lock);
    __tsan_mutex_post_unlock(&word, __tsan_mutex_read_lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_mutex_pre_lock(&word, KIND);
    __tsan_mutex_post_lock(&word, KIND, 0);
    data = 1; /* RACE 2 */
    __tsan_mutex_pre_unlock(&word, KIND);
    __tsan_mutex_post_unlock(&word, KIND);
}

int main(void)
{
    return rb_both(first, second);
}
