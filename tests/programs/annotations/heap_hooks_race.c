/*
 * The program's functions for new and freed blocks are called outside the runtime: what they do counts.
 */
#include "../order.h"

void __sanitizer_malloc_hook(const volatile void *block, size_t size);

RB_APART static int told;
RB_APART static int counting;

void __sanitizer_malloc_hook(const volatile void *block, size_t size)
{
    (void)block;
    if (__atomic_load_n(&counting, __ATOMIC_RELAXED) && size == 12345)
        told++; /* RACE 1 */ /* RACE 2 */
}

static void allocate(void)
{
    char *volatile block = malloc(12345);

    free(block);
}

static void first(void)
{
    allocate();
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    allocate();
}

int main(void)
{
    __atomic_store_n(&counting, 1, __ATOMIC_RELAXED);
    return rb_both(first, second);
}
