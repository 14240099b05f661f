/* The barrier made for tests of detectors: it orders in time and says nothing. */
#include "../order.h"

void __tsan_testonly_barrier_init(void *barrier, unsigned count);
void __tsan_testonly_barrier_wait(void *barrier);

int data;
unsigned long long barrier;

static void first(void)
{
    data = 1; /* RACE 1 */
    __tsan_testonly_barrier_wait(&barrier);
}

static void second(void)
{
    __tsan_testonly_barrier_wait(&barrier);
    data = 2; /* RACE 2 */
}

int main(void)
{
    __tsan_testonly_barrier_init(&barrier, 2);
    return rb_both(first, second);
}
