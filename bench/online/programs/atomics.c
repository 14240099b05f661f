// Atomics only: cells go from a stack of free ones to a stack of full ones and back, without a lock, and two
// counters count. Every thread fills one and empties one, so that the work is the same however they are
// scheduled, and nobody ever waits. A stack's word is the number of its first cell and, above it, how often
// it has changed. atomics [ROUNDS]
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CELLS = 64 };
static struct {
    atomic_ulong next;
    unsigned long value;
} __attribute__((aligned(64))) cells[CELLS + 1]; // 0: the end
static atomic_ulong free_cells __attribute__((aligned(64))), full_cells __attribute__((aligned(64)));
static atomic_ulong filled __attribute__((aligned(64))), emptied;
static long rounds = 60000000;

static void push(atomic_ulong *stack, unsigned long cell)
{
    unsigned long old = atomic_load_explicit(stack, memory_order_relaxed), word;

    do {
        atomic_store_explicit(&cells[cell].next, old & 0xff, memory_order_relaxed);
        word = ((old >> 8) + 1) << 8 | cell;
    } while (!atomic_compare_exchange_weak_explicit(stack, &old, word, memory_order_acq_rel,
                                                    memory_order_relaxed));
}

// There always is one: a thread takes no more than it gave, and there are more cells than threads.
static unsigned long pop(atomic_ulong *stack)
{
    unsigned long old = atomic_load_explicit(stack, memory_order_acquire), word;

    do
        word = ((old >> 8) + 1) << 8 | atomic_load_explicit(&cells[old & 0xff].next, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(stack, &old, word, memory_order_acq_rel,
                                                  memory_order_acquire));
    return old & 0xff;
}

static void *work(void *number)
{
    unsigned long sum = 0;

    for (long i = 0; i < rounds / THREADS; i++) {
        unsigned long cell = pop(&free_cells);
        cells[cell].value = (unsigned long)number + (unsigned long)i;
        push(&full_cells, cell);
        atomic_fetch_add_explicit(&filled, 1, memory_order_relaxed);
        cell = pop(&full_cells);
        sum += cells[cell].value;
        push(&free_cells, cell);
        atomic_fetch_add(&emptied, 1);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    unsigned long sum = 0;

    if (argc > 1)
        rounds = atol(argv[1]);
    for (unsigned long i = 1; i <= CELLS; i++)
        push(&free_cells, i);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(t[i], &part);
        sum += (unsigned long)part;
    }
    printf("%lu %lu %lu\n", filled, emptied, sum);
    return 0;
}
