/* A reader of an annotated lock is ordered after its writer, the next writer after the reader. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>

#define KIND 0
int data;
RB_APART int word;

static void first(void)
{
    __tsan_mutex_pre_lock(&word, __tsan_mutex_read_lock);
    __tsan_mutex_post_lock(&word, __tsan_mutex_read_lock, 0);
    rb_use(data);
    __tsan_mutex_pre_unlock(&word, __tsan_mutex_read_lock);
    __tsan_mutex_post_unlock(&word, __tsan_mutex_read_lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_mutex_pre_lock(&word, KIND);
    __tsan_mutex_post_lock(&word, KIND, 0);
    data = 1;
    __tsan_mutex_pre_unlock(&word, KIND);
    __tsan_mutex_post_unlock(&word, KIND);
}

int main(void)
{
    return rb_both(first, second);
}
