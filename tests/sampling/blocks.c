// blocks SECONDS: for so much CPU time, threads that make blocks and give them back, each other's as well, so
// fast that many want the same place in the table where the runtime keeps where blocks were made. Once all
// are given back none may be there. Prints how often a block was known while it was there; status 1 if one is
// known that is not.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu_time.h"

int __sanitizer_get_ownership(const volatile void *block);

enum { THREADS = 4, HANDED = 64, REMEMBERED = 1 << 14, BLOCKS = 32 };
static _Atomic(char *) handed[HANDED];
static char *gone[THREADS][REMEMBERED];
static atomic_bool stop;
static atomic_long known;

static unsigned draw(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void *body(void *number)
{
    const unsigned me = (unsigned)(long)number;
    unsigned random = 31337u + me;
    char *block[BLOCKS] = {NULL};

    for (unsigned i = 0; !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
        const unsigned which = draw(&random) % BLOCKS, size = 16 + draw(&random) % 200;
        char *old = block[which];
        block[which] = malloc(size);
        if (i % 512 == 0)
            known += __sanitizer_get_ownership(block[which]);
        if (i % 8 == 0) // somebody else gives it back
            old = atomic_exchange(&handed[draw(&random) % HANDED], old);
        gone[me][(uintptr_t)old / 16 % REMEMBERED] = old;
        free(old);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    pthread_t thread[THREADS];
    long stays = 0;

    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, body, (void *)i))
            return 2;
    await_cpu_seconds(seconds);
    stop = true;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < HANDED; i++)
        free(atomic_exchange(&handed[i], NULL));
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < REMEMBERED; i++)
            stays += gone[t][i] && __sanitizer_get_ownership(gone[t][i]);
    printf("%ld\n", (long)known);
    if (stays)
        fprintf(stderr, "%ld blocks stay\n", stays);
    return stays != 0;
}
