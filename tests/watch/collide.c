// Accesses of shared data by two threads, for samplers that compare by breakpoints (crsampler, datacollider).
//   collide WAY [MS]     runs WAY for so long (default 120); prints `done`
//   collide -l KIND      lists the ways: `race`, `ordered`, `silent` (ordered, may be met by no trap),
//   `mixed`
// Ways that race have no synchronisation between the two accesses but creating and joining the threads. The
// ordered ones have each a way of their own to order them, and are otherwise the same.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long milliseconds = 120;

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double end_time;

static int goes_on(void)
{
    return seconds() < end_time;
}

static void rest(void)
{
    usleep(300);
}

static void both(void *(*one)(void *), void *(*two)(void *), void *given)
{
    pthread_t a, b;

    end_time = seconds() + (double)milliseconds * 1e-3;
    pthread_create(&a, NULL, one, given);
    pthread_create(&b, NULL, two, given);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

// ---- races ---------------------------------------------------------------------------------------------

#define RACE(name, type, ONE, TWO)          \
    static type shared_##name;              \
    static void *name##_one(void *unused)   \
    {                                       \
        type sum = 0;                       \
        for (; goes_on(); rest())           \
            ONE;                            \
        (void)sum;                          \
        return unused;                      \
    }                                       \
    static void *name##_two(void *unused)   \
    {                                       \
        type sum = 0;                       \
        for (; goes_on(); rest())           \
            TWO;                            \
        (void)sum;                          \
        return unused;                      \
    }                                       \
    static void name(void)                  \
    {                                       \
        both(name##_one, name##_two, NULL); \
    }
#define READ(x)  sum += *(volatile __typeof__(x) *)&(x)
#define WRITE(x) *(volatile __typeof__(x) *)&(x) = 1
RACE(write_read, long, WRITE(shared_write_read), READ(shared_write_read))
RACE(write_write, int, WRITE(shared_write_write), WRITE(shared_write_write))
RACE(short_read_write, short, READ(shared_short_read_write), WRITE(shared_short_read_write))
RACE(byte, char, WRITE(shared_byte), shared_byte++)
RACE(float_add, double, shared_float_add += 1, shared_float_add += 2)

// ---- ordered -------------------------------------------------------------------------------------------
// Each has `enter` and `leave` around the use of `data`, or is written out.

static long data[8];

static void use(int mine)
{
    data[0] += 1;
    data[1] = data[2] + mine;
    data[2] = mine;
}

#define ORDERED(name, ENTER, LEAVE)              \
    static void *name##_either(void *given)      \
    {                                            \
        const int me = given != NULL;            \
        (void)me;                                \
        for (int i = 0; goes_on(); i++) {        \
            ENTER;                               \
            use(me);                             \
            LEAVE;                               \
            if (i % 4 == 0)                      \
                rest();                          \
        }                                        \
        return NULL;                             \
    }                                            \
    static void *name##_other(void *given)       \
    {                                            \
        (void)given;                             \
        return name##_either(&data);             \
    }                                            \
    static void name(void)                       \
    {                                            \
        both(name##_either, name##_other, NULL); \
    }

static pthread_mutex_t a_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t a_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t a_spin;
static sem_t a_semaphore;
static atomic_int word;
static atomic_int turn;
static atomic_long next_ticket, now_serving;
static char locked_by_cas;

ORDERED(mutex, pthread_mutex_lock(&a_mutex), pthread_mutex_unlock(&a_mutex))
ORDERED(rwlock, pthread_rwlock_wrlock(&a_rwlock), pthread_rwlock_unlock(&a_rwlock))
ORDERED(spin, pthread_spin_lock(&a_spin), pthread_spin_unlock(&a_spin))
ORDERED(semaphore, sem_wait(&a_semaphore), sem_post(&a_semaphore))

// By atomics alone. Who waits gives up at the end.
#define UNTIL(condition)   \
    while (!(condition)) { \
        if (!goes_on())    \
            return NULL;   \
        rest();            \
    }
ORDERED(handover, UNTIL(atomic_load_explicit(&turn, memory_order_acquire) == me),
        atomic_store_explicit(&turn, !me, memory_order_release))
ORDERED(handover_seq, UNTIL(atomic_load(&turn) == me), atomic_store(&turn, !me))
ORDERED(exchange, UNTIL(!atomic_exchange_explicit(&word, 1, memory_order_acq_rel)),
        atomic_exchange_explicit(&word, 0, memory_order_release))
ORDERED(compare, UNTIL(!__sync_lock_test_and_set(&locked_by_cas, 1)), __sync_lock_release(&locked_by_cas))
ORDERED(ticket, const long mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
        while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine),
        atomic_store_explicit(&now_serving, mine + 1, memory_order_release))
ORDERED(add, UNTIL((atomic_fetch_add_explicit(&turn, 0, memory_order_acquire) & 1) == me),
        atomic_fetch_add_explicit(&turn, 1, memory_order_release))
ORDERED(fence, UNTIL(atomic_load_explicit(&turn, memory_order_relaxed) == me);
        atomic_thread_fence(memory_order_acquire), atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&turn, !me, memory_order_relaxed))

// A condition: who has it waits for the other.
static pthread_cond_t a_condition = PTHREAD_COND_INITIALIZER;
static int whose;

static void *condition_either(void *given)
{
    const int me = given != NULL;

    pthread_mutex_lock(&a_mutex);
    while (goes_on()) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec += 1;
        while (whose != me && goes_on())
            pthread_cond_timedwait(&a_condition, &a_mutex, &soon);
        use(me);
        whose = !me;
        pthread_cond_signal(&a_condition);
    }
    whose = !me;
    pthread_cond_signal(&a_condition);
    pthread_mutex_unlock(&a_mutex);
    return NULL;
}

static void *condition_other(void *given)
{
    (void)given;
    return condition_either(&data);
}

static void condition(void)
{
    both(condition_either, condition_other, NULL);
}

// A barrier with rounds: even ones are one thread's, odd ones the other's.
static pthread_barrier_t a_barrier;
static atomic_int rounds = 200;

static void *barrier_either(void *given)
{
    for (int i = 0; i < rounds; i++) {
        if ((i & 1) == (given != NULL))
            use(i);
        pthread_barrier_wait(&a_barrier);
    }
    return NULL;
}

static void *barrier_other(void *given)
{
    (void)given;
    return barrier_either(&data);
}

static void barrier(void)
{
    pthread_barrier_init(&a_barrier, NULL, 2);
    both(barrier_either, barrier_other, NULL);
}

// Bytes in two pipes.
static int pipes[2][2];

static void *pipe_either(void *given)
{
    const int me = given != NULL;
    char byte = 0;

    for (int i = 0; i < 300; i++) {
        if (me && read(pipes[0][0], &byte, 1) != 1)
            return NULL;
        use(me);
        if (write(pipes[!me ? 0 : 1][1], &byte, 1) != 1)
            return NULL;
        if (!me && read(pipes[1][0], &byte, 1) != 1)
            return NULL;
    }
    return NULL;
}

static void *pipe_other(void *given)
{
    (void)given;
    return pipe_either(&data);
}

static void pipe_way(void)
{
    if (pipe(pipes[0]) || pipe(pipes[1]))
        exit(3);
    both(pipe_either, pipe_other, NULL);
}

// Threads that come one after the other: what a thread did is over when it is joined, and states, stacks and
// thread-local memory are used again.
static void *joined(void *given)
{
    use(given != NULL);
    return NULL;
}

static void *joining(void *given)
{
    while (goes_on()) {
        pthread_t t;
        use(2);
        pthread_create(&t, NULL, joined, given);
        pthread_join(t, NULL);
        use(3);
    }
    return NULL;
}

static void *idle(void *given)
{
    while (goes_on())
        rest();
    return given;
}

static void join(void)
{
    both(joining, idle, NULL);
}

// Blocks that go from thread to thread through the allocator alone, each used by whoever has it.
static void *blocks(void *given)
{
    while (goes_on()) {
        long *block = malloc(64);
        for (int i = 0; i < 8; i++)
            block[i] = i + (given != NULL);
        free(block);
    }
    return NULL;
}

static void heap(void)
{
    both(blocks, blocks, NULL);
}

// The same through the kernel: one place, which is whoever's gets it mapped.
static void *place;

static void *pages(void *given)
{
    while (goes_on()) {
        long *page = mmap(place, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (page == MAP_FAILED)
            continue;
        for (int i = 0; i < 8; i++)
            page[i] += i + (given != NULL);
        munmap(page, 4096);
        rest();
    }
    return NULL;
}

static void map(void)
{
    place = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(place, 4096);
    both(pages, pages, NULL);
}

// The same through an allocator of the program's own, whose lock nobody sees: it says when a block is new.
extern void railbird_new_memory(const volatile void *address, size_t bytes);
static long block[8];
static char hidden;

static __attribute__((noinline, no_sanitize("thread"))) long *take_block(void)
{
    char was;

    do {
        was = 1;
        __asm__ volatile("xchgb %0, %1" : "+q"(was), "+m"(hidden)::"memory");
    } while (was && goes_on());
    return was ? NULL : block;
}

static __attribute__((noinline, no_sanitize("thread"))) void give_block(void)
{
    __asm__ volatile("movb $0, %0" : "=m"(hidden)::"memory");
}

static void *pool_user(void *given)
{
    long *mine;

    while (goes_on() && (mine = take_block()) != NULL) {
        railbird_new_memory(mine, sizeof(block));
        mine[1] += given != NULL;
        mine[2] = mine[3];
        give_block();
        rest();
    }
    return NULL;
}

static void pool(void)
{
    both(pool_user, pool_user, NULL);
}

// A signal to the other thread; its handler uses the data, and answers.
static pthread_t handler_thread;
static atomic_int answered, listening;

static void on_signal(int number)
{
    use(number);
    atomic_store_explicit(&answered, 1, memory_order_release);
}

static void *sending(void *given)
{
    UNTIL(atomic_load_explicit(&listening, memory_order_acquire))
    while (goes_on()) {
        use(1);
        atomic_store_explicit(&answered, 0, memory_order_relaxed);
        pthread_kill(handler_thread, SIGUSR1);
        UNTIL(atomic_load_explicit(&answered, memory_order_acquire))
    }
    return given;
}

static void *listening_to(void *given)
{
    handler_thread = pthread_self();
    atomic_store_explicit(&listening, 1, memory_order_release);
    return idle(given);
}

static void signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGUSR1, &action, NULL);
    both(sending, listening_to, NULL);
}

// Nobody writes.
static void *reading(void *given)
{
    long sum = 0;

    for (; goes_on(); rest())
        sum += ((volatile long *)data)[3];
    return sum == 1 ? given : NULL;
}

static void read_only(void)
{
    both(reading, reading, NULL);
}

// ---- many pairs of places ------------------------------------------------------------------------------
// Two places of the code for each cell, so that each can be reported; every third is left unordered, the
// others are ordered by a lock or by an atomic. Both threads go from cell to cell by the clock alone.

#define CELLS      24
#define EACH(X)    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) EACH_8(X) EACH_16(X)
#define EACH_8(X)  X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
static struct cell {
    long value;
    atomic_int turn;
    pthread_mutex_t mutex;
} cells[CELLS];

#define CELL(n)                                         \
    __attribute__((noinline)) static void put_##n(void) \
    {                                                   \
        *(volatile long *)&cells[n].value = n;          \
    }                                                   \
    __attribute__((noinline)) static void get_##n(void) \
    {                                                   \
        (void)*(volatile long *)&cells[n].value;        \
    }
EACH(CELL)
#define PUT(n) put_##n,
#define GET(n) get_##n,
static void (*const puts_of[CELLS])(void) = {EACH(PUT)};
static void (*const gets_of[CELLS])(void) = {EACH(GET)};

static void touch(int i, int me)
{
    struct cell *c = &cells[i];

    if (i % 3 == 1)
        pthread_mutex_lock(&c->mutex);
    if (i % 3 == 2 && atomic_load_explicit(&c->turn, memory_order_acquire) != me)
        return;
    (me ? puts_of : gets_of)[i]();
    if (i % 3 == 1)
        pthread_mutex_unlock(&c->mutex);
    if (i % 3 == 2)
        atomic_store_explicit(&c->turn, !me, memory_order_release);
}

static void *mixed_either(void *given)
{
    const double began = end_time - (double)milliseconds * 1e-3, each = (double)milliseconds * 1e-3 / CELLS;
    int i;

    while ((i = (int)((seconds() - began) / each)) < CELLS) {
        touch(i, given != NULL);
        usleep(100);
    }
    return NULL;
}

static void *mixed_other(void *given)
{
    (void)given;
    return mixed_either(&data);
}

static void mixed(void)
{
    for (int i = 0; i < CELLS; i++)
        pthread_mutex_init(&cells[i].mutex, NULL);
    both(mixed_either, mixed_other, NULL);
}

// ---- all of them ---------------------------------------------------------------------------------------

static const struct {
    const char *kind, *name;
    void (*run)(void);
} ways[] = {
    {"race", "write_read", write_read},
    {"race", "write_write", write_write},
    {"race", "short_read_write", short_read_write},
    {"race", "byte", byte},
    {"race", "float_add", float_add},
    {"mixed", "mixed", mixed},
    {"ordered", "mutex", mutex},
    {"ordered", "rwlock", rwlock},
    {"ordered", "spin", spin},
    {"ordered", "semaphore", semaphore},
    {"ordered", "handover", handover},
    {"ordered", "handover_seq", handover_seq},
    {"ordered", "exchange", exchange},
    {"ordered", "compare", compare},
    {"ordered", "ticket", ticket},
    {"ordered", "add", add},
    {"ordered", "fence", fence},
    {"ordered", "condition", condition},
    {"ordered", "barrier", barrier},
    {"ordered", "pipe", pipe_way},
    {"ordered", "join", join},
    {"silent", "heap", heap},
    {"silent", "map", map},
    {"silent", "pool", pool},
    {"ordered", "signals", signals},
    {"silent", "read_only", read_only},
};

int main(int argc, char **argv)
{
    const unsigned count = sizeof(ways) / sizeof(ways[0]);

    if (argc == 3 && !strcmp(argv[1], "-l")) {
        for (unsigned i = 0; i < count; i++)
            if (!strcmp(ways[i].kind, argv[2]))
                puts(ways[i].name);
        return 0;
    }
    if (argc == 3)
        milliseconds = atol(argv[2]);
    sem_init(&a_semaphore, 0, 1);
    pthread_spin_init(&a_spin, 0);
    for (unsigned i = 0; argc > 1 && i < count; i++)
        if (!strcmp(ways[i].name, argv[1])) {
            ways[i].run();
            puts("done");
            return 0;
        }
    return 2;
}
