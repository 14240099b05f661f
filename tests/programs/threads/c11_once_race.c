/* What call_once made is used by a thread that did not call call_once. */
#include "../order.h"
#include <threads.h>

int data;
once_flag once = ONCE_FLAG_INIT;

static void make(void)
{
    data = 1; /* RACE 1 */
}

static void first(void)
{
    call_once(&once, make);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data); /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
