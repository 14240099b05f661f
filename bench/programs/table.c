// A hash table with striped locks under eight threads: short critical sections, many of them. table [ROUNDS]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, LOCKS = 64, SLOTS = 1 << 16 };
static pthread_mutex_t locks[LOCKS];
static struct {
    uint64_t key, value;
} slots[SLOTS];
static long rounds = 400000;

static void *work(void *seed)
{
    uint64_t x = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15u;

    for (long i = 0; i < rounds; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const unsigned slot = (unsigned)(x >> 20) % SLOTS;
        pthread_mutex_lock(&locks[slot % LOCKS]);
        for (int k = 0; k < 8; k++) {
            const unsigned at = (slot + (unsigned)k * LOCKS) % SLOTS;
            if (slots[at].key == 0 || slots[at].key == x % 1000) {
                slots[at].key = x % 1000;
                slots[at].value += x & 255;
                break;
            }
        }
        pthread_mutex_unlock(&locks[slot % LOCKS]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    uint64_t sum = 0;

    if (argc > 1)
        rounds = atol(argv[1]);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        sum += slots[i].value;
    printf("%lu\n", (unsigned long)(sum != 0));
    return 0;
}
