/* Every caller of call_once is ordered after the call that made it. */
#include "../order.h"
#include <threads.h>

int data;
once_flag once = ONCE_FLAG_INIT;

static void make(void)
{
    data = 1;
}

static void first(void)
{
    call_once(&once, make);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    call_once(&once, make);
    rb_use(data);
}

int main(void)
{
    return rb_both(first, second);
}
