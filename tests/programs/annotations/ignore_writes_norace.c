/* AnnotateIgnoreWritesBegin: writes up to AnnotateIgnoreWritesEnd are not looked at. */
#include "../order.h"

void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

int data;

static void first(void)
{
    data = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    data = 2;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

int main(void)
{
    return rb_both(first, second);
}
