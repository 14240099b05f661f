// What functions with two bodies must get right while their gates change: loops in loops that keep values
// over calls and over waiting, floating point, small copies of locals, switches, early returns, recursion,
// variable arguments.
// Prints a number that is the same in every build.
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flip.h"

#define NOINLINE __attribute__((noinline))

struct item {
    long key;
    double weight;
    char name[24];
    struct item *next;
};
static struct item *table[64];

static NOINLINE unsigned long hash(const char *s)
{
    unsigned long h = 5381;
    for (; *s; s++)
        h = h * 33 ^ (unsigned char)*s;
    return h;
}

static NOINLINE struct item *find(const char *name, long key)
{
    struct item local = {.key = key}, **place = &table[hash(name) % 64];

    while (*place && (strcmp((*place)->name, name) || (*place)->key != key))
        place = &(*place)->next;
    if (*place)
        return *place;
    memset(local.name, 0, sizeof(local.name));
    memcpy(local.name, name, strlen(name) + 1);
    *place = malloc(sizeof(local));
    memcpy(*place, &local, sizeof(local));
    return *place;
}

static NOINLINE double weigh(double *row, const double *with, int length, double factor)
{
    double sum = 0, most = -1e300;

    for (int i = 0; i < length; i++) {
        row[i] = row[i] * factor + with[length - 1 - i];
        sum += row[i];
        most = row[i] > most ? row[i] : most;
    }
    return sum - most / 3;
}

static NOINLINE long total(int count, ...)
{
    va_list list;
    long sum = 0;

    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum = sum * 7 + va_arg(list, long);
    va_end(list);
    return sum;
}

static NOINLINE long walk(const long *tree, long at, int depth)
{
    if (depth == 0 || at >= 255)
        return tree[at % 255];
    const long left = walk(tree, 2 * at + 1, depth - 1), right = walk(tree, 2 * at + 2, depth - 1);
    return left > right ? left - right + tree[at % 255] : total(3, right, left, tree[(at + 1) % 255]);
}

static NOINLINE void sort(long *a, int n)
{
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++) {
            const long moved = a[i];
            int j = i;
            for (; j >= gap && a[j - gap] > moved; j -= gap)
                a[j] = a[j - gap];
            a[j] = moved;
        }
}

static NOINLINE long step(long state, long *memory)
{
    switch (state % 9) {
    case 0:
        memory[state % 32] += state;
        return state * 3 + 1;
    case 1:
        memory[state % 16] ^= memory[state % 31];
        return state + memory[3];
    case 2:
        return memory[1] ? state / 3 : state + 5;
    case 4:
        memcpy(memory + 8, memory, 8 * sizeof(*memory));
        return state - memory[9] % 17;
    case 5:
        memset(memory + 20, 0, 3 * sizeof(*memory));
        return state + 11;
    case 7:
        memmove(memory + 1, memory, 12 * sizeof(*memory));
        return state ^ memory[2];
    default:
        memory[0]++;
        return state + 1;
    }
}

// Wide vectors that live across branches with accesses.
typedef double wide __attribute__((vector_size(32)));
static long branches[8];

static NOINLINE double spread(const double *from, int length)
{
    wide a = {1, 2, 3, 4}, b = a * 0.5, c = a - b;

    for (int i = 0; i + 4 <= length; i++) {
        const wide x = {from[i], from[i + 1], from[i + 2], from[i + 3]};
        a += x * b;
        if (from[i] > 3) {
            branches[i % 8]++;
            branches[(i + 3) % 8] ^= i;
        } else {
            c -= x;
        }
        b = c * 0.125 + x;
        if ((long)a[0] % 5 == 2)
            branches[2] += (long)b[1];
    }
    a += b + c;
    return a[0] + a[1] * 2 + a[2] * 3 + a[3] * 4;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long whose, handed[32];
static long handovers;

// Two threads, each when it is its turn.
static NOINLINE unsigned long hand_over(unsigned long me)
{
    unsigned long kept = me + 1, each[4] = {me, 2, 3, 4};

    for (long i = 0; i < handovers; i++) {
        pthread_mutex_lock(&mutex);
        while (whose != me)
            pthread_cond_wait(&changed, &mutex);
        each[i % 4] ^= kept + handed[i % 32];
        for (int k = 0; k < 32; k++)
            handed[k] = handed[k] * 3 + kept % 7;
        kept = kept * 31 + handed[i % 32];
        whose = !me;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
        for (int k = 0; k < 2; k++) // nothing but waiting
            poll(NULL, 0, 0);
    }
    return kept ^ each[0] ^ each[1] ^ each[2] ^ each[3];
}

static void *other_hands(void *result)
{
    *(unsigned long *)result = hand_over(1);
    return NULL;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 300;
    static double row[64], with[64];
    static long tree[255], memory[64], sorted[200];
    pthread_t flipper;
    long sum = 0;
    char name[32];

    const long gates = flip_begin(&flipper);
    for (int i = 0; i < 64; i++)
        with[i] = i * 0.25;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < 255; i++)
            tree[i] = (tree[i] * 31 + r * 7 + i) % 1009;
        sum += walk(tree, 0, 7) % 100003;
        for (int i = 0; i < 200; i++)
            sorted[i] = (sorted[i] * 1103515245L + 12345 + r) & 0xffff;
        sort(sorted, 200);
        for (int i = 1; i < 200; i++)
            sum += sorted[i] < sorted[i - 1] ? 1000000007L : sorted[i] % 3;
        sum += (long)spread(row, 64) % 1009 + branches[r % 8] % 7;
        sum += (long)weigh(row, with, 64, 0.5) % 1000;
        for (int i = 0; i < 40; i++) {
            snprintf(name, sizeof(name), "item %d", (r + i) % 50);
            struct item *found = find(name, i % 3);
            found->weight += row[i];
            sum += (long)found->weight % 13 + found->key;
        }
        long state = r;
        for (int i = 0; i < 100; i++)
            state = labs(step(labs(state), memory)) % 1000000;
        sum += state;
    }
    pthread_t hands;
    unsigned long others = 0;
    handovers = rounds / 2;
    pthread_create(&hands, NULL, other_hands, &others);
    sum += (long)(hand_over(0) % 1000);
    pthread_join(hands, NULL);
    sum += (long)(others % 1000);
    flip_end(flipper);
    fprintf(stderr, "%ld gates\n", gates);
    printf("%ld\n", sum);
    return 0;
}
