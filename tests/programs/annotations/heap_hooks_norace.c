/*
 * What the sanitizers' functions say of the heap, and the program's own functions for new and freed blocks,
 * which lock.
 */
#include "../order.h"

int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *, size_t),
                                              void (*gone)(const volatile void *));
int __sanitizer_get_ownership(const volatile void *block);
size_t __sanitizer_get_allocated_size(const volatile void *block);
size_t __sanitizer_get_current_allocated_bytes(void);
void __sanitizer_malloc_hook(const volatile void *block, size_t size);
void __sanitizer_free_hook(const volatile void *block);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const volatile void *mine;
static int made, gone, installed_made, installed_gone;

static void count(int *what)
{
    pthread_mutex_lock(&mutex);
    ++*what;
    pthread_mutex_unlock(&mutex);
}

void __sanitizer_malloc_hook(const volatile void *block, size_t size)
{
    (void)block;
    if (size == 12345)
        count(&made);
}

void __sanitizer_free_hook(const volatile void *block)
{
    if (block == __atomic_load_n(&mine, __ATOMIC_RELAXED))
        count(&gone);
}

static void on_made(const volatile void *block, size_t size)
{
    (void)block;
    if (size == 12345)
        count(&installed_made);
}

static void on_gone(const volatile void *block)
{
    if (block == __atomic_load_n(&mine, __ATOMIC_RELAXED))
        count(&installed_gone);
}

static void allocate(void)
{
    const size_t before = __sanitizer_get_current_allocated_bytes();
    char *volatile block = malloc(12345);

    RB_CHECK(__sanitizer_get_current_allocated_bytes() >= before + 12345);
    RB_CHECK(__sanitizer_get_ownership(block) && !__sanitizer_get_ownership(&mine));
    RB_CHECK(__sanitizer_get_allocated_size(block) == 12345);
    __atomic_store_n(&mine, block, __ATOMIC_RELAXED);
    free(block);
    __atomic_store_n(&mine, NULL, __ATOMIC_RELAXED);
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
    RB_CHECK(__sanitizer_install_malloc_and_free_hooks(on_made, on_gone) > 0);
    const int result = rb_both(first, second);
    RB_CHECK(made == 2 && gone == 2 && installed_made == 2 && installed_gone == 2);
    return result;
}
