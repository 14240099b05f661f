/* __tsan_ignore_thread_begin covers what its thread does up to __tsan_ignore_thread_end. */
#include "../order.h"

void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

int data;

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_end();
    __tsan_ignore_thread_end();
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
