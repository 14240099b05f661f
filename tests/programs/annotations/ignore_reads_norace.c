/* AnnotateIgnoreReadsBegin: reads up to AnnotateIgnoreReadsEnd are not looked at. */
#include "../order.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

int data;

static void first(void)
{
    data = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    rb_use(data);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

int main(void)
{
    return rb_both(first, second);
}
