// Pairs of threads, each with a ring of slots and atomic indices. Races: some slots are handed back before
// their body has been read to the end.
#include <sched.h>
#include <stdatomic.h>

#include "detect.h"

enum { SLOTS = 32, BODY = 24 };
struct slot {
    long number;
    long racy_body[BODY];
};
struct ring {
    _Alignas(64) atomic_ulong head;
    _Alignas(64) atomic_ulong tail;
    struct slot slot[SLOTS];
};
static struct ring *rings;
static long rounds;

static void produce(struct ring *r, long me)
{
    unsigned random = seed_of(me);

    for (long i = 0; i < rounds; i++) {
        while (atomic_load_explicit(&r->tail, memory_order_relaxed) -
                   atomic_load_explicit(&r->head, memory_order_acquire) ==
               SLOTS)
            sched_yield();
        struct slot *s = &r->slot[i % SLOTS];
        s->number = i;
        for (int j = 0; j < BODY; j++)
            s->racy_body[j] = (long)draw(&random) % 1000;
        atomic_fetch_add_explicit(&r->tail, 1, memory_order_release);
    }
}

static long digest(const long *body, int from, long sum)
{
    long work[BODY];

    for (int j = from; j < BODY; j++)
        work[j] = body[j]; // racy_body of a slot, or a copy of it
    FORGET();
    for (int p = 0; p < 3; p++)
        for (int j = from; j < BODY; j++)
            sum = sum * 31 + work[j];
    return sum;
}

static void consume(struct ring *r, long me)
{
    long copy[BODY], sum = 0;

    for (long i = 0; i < rounds; i++) {
        while (atomic_load_explicit(&r->tail, memory_order_acquire) == (unsigned long)i)
            sched_yield();
        struct slot *s = &r->slot[i % SLOTS];
        expect(s->number == i, "slots come in order");
        for (int j = 0; j < BODY / 2; j++)
            copy[j] = s->racy_body[j];
        FORGET();
        for (int j = 0; j < BODY / 2; j++)
            sum += copy[j];
        if (is_due(me, i, rounds)) {
            atomic_fetch_add_explicit(&r->head, 1, memory_order_release);
            sched_yield();
            for (int j = BODY / 2; j < BODY; j++)
                sum += s->racy_body[j];
        } else {
            sum = digest(s->racy_body, BODY / 2, sum);
            atomic_fetch_add_explicit(&r->head, 1, memory_order_release);
        }
    }
    expect(sum != 0, "bodies are not empty");
}

static void *body(void *number)
{
    const long me = (long)number;

    if (me % 2)
        consume(&rings[me / 2], me);
    else
        produce(&rings[me / 2], me);
    return NULL;
}

int main(void)
{
    rounds = work(400000) / (THREADS / 2);
    rings = aligned_alloc(64, sizeof(struct ring) * (THREADS / 2));
    memset(rings, 0, sizeof(struct ring) * (THREADS / 2));
    crew(THREADS / 2 * 2, body);
    free(rings);
    return 0;
}
