/* __tsan_ignore_thread_begin: what the thread does up to __tsan_ignore_thread_end is not looked at. */
#include "../order.h"

void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

int data;

static void first(void)
{
    data = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_end();
    data = 2;
    __tsan_ignore_thread_end();
}

int main(void)
{
    return rb_both(first, second);
}
