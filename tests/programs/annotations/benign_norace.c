/* AnnotateBenignRaceSized: these races are known and wanted. */
#include "../order.h"

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, size_t size,
                             const char *description);

struct {
    long before[2];
    long counter;
    long after[2];
} all;

static void first(void)
{
    all.counter = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    all.counter = 2;
}

int main(void)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, &all.counter, sizeof(all.counter), "statistics");
    return rb_both(first, second);
}
