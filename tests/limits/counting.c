// An allocator that counts, for a host that has its own: linked into the program, or preloaded. Says how
// often each function was called. Never instrumented.
//
// It hands everything to libc's allocator by the names that only libc uses for it. A program's own allocator
// takes the place of the runtime's interceptor, so it has to say itself that a block is new (docs/explanation/runtime.md,
// section 7).
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void railbird_new_memory(const volatile void *, size_t) __attribute__((weak));
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static unsigned long mallocs, callocs, reallocs, aligned, frees;

static void *new_block(void *block, size_t n)
{
    if (block && railbird_new_memory)
        railbird_new_memory(block, n);
    return block;
}

#define COUNT(what) __atomic_fetch_add(&(what), 1, __ATOMIC_RELAXED)

void *malloc(size_t n)
{
    COUNT(mallocs);
    return new_block(__libc_malloc(n), n);
}

void *calloc(size_t n, size_t size)
{
    COUNT(callocs);
    return new_block(__libc_calloc(n, size), n * size);
}

void *realloc(void *block, size_t n)
{
    COUNT(reallocs);
    return __libc_realloc(block, n);
}

void *memalign(size_t alignment, size_t n)
{
    COUNT(aligned);
    return new_block(__libc_memalign(alignment, n), n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return memalign(alignment, n);
}

int posix_memalign(void **block, size_t alignment, size_t n)
{
    *block = memalign(alignment, n);
    return *block ? 0 : ENOMEM;
}

void free(void *block)
{
    if (block)
        COUNT(frees);
    __libc_free(block);
}

// The program calls it in its last destructor.
void counting_say(void);
void counting_say(void)
{
    char line[200];
    const int n = snprintf(line, sizeof(line), "malloc %lu calloc %lu realloc %lu aligned %lu free %lu\n",
                           mallocs, callocs, reallocs, aligned, frees);

    syscall(SYS_write, 1, line, (size_t)n);
}
