/* AnnotateHappensBefore and AnnotateHappensAfter of one address make an edge. */
#include "../order.h"

void AnnotateHappensBefore(const char *file, int line, const volatile void *address);
void AnnotateHappensAfter(const char *file, int line, const volatile void *address);

int data;
RB_APART int token, other;

static void first(void)
{
    data = 1;
    AnnotateHappensBefore(__FILE__, __LINE__, &token);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    AnnotateHappensAfter(__FILE__, __LINE__, &token);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
