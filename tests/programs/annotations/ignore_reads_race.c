/* AnnotateIgnoreReadsBegin covers reads up to AnnotateIgnoreReadsEnd only. */
#include "../order.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

int data;

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    rb_use(data); /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
