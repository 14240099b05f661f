/* AnnotateBenignRaceSized of the neighbours says nothing of what is between them. */
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
    all.counter = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    all.counter = 2; /* RACE 2 */
}

int main(void)
{
    AnnotateBenignRaceSized(__FILE__, __LINE__, all.before, sizeof(all.before), "statistics");
    AnnotateBenignRaceSized(__FILE__, __LINE__, all.after, sizeof(all.after), "statistics");
    return rb_both(first, second);
}
