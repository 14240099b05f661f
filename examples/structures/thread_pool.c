// A pool of threads that take tasks from a list: a mutex and a condition variable for the list, and an atomic
// counter of what is still to do, whose last decrement wakes who waits for all. A task sums a part of an
// array and makes two smaller ones of a large part; the results go into a table that has a lock of its own.
#include <stdatomic.h>

#include "common.h"

#define LARGE 16

struct task {
    int from, to;
    struct task *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first;
    int closed;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static atomic_int to_do;
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int *numbers;

static void submit(int from, int to)
{
    struct task *task = malloc(sizeof(*task));

    if (!task)
        exit(2);
    *task = (struct task){.from = from, .to = to};
    atomic_fetch_add(&to_do, 1);
    pthread_mutex_lock(&pool.lock);
    task->next = pool.first;
    pool.first = task;
    pthread_cond_signal(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

static void close_pool(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.closed = 1;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

// NULL: the pool is closed and nothing is left.
static struct task *next_task(void)
{
    pthread_mutex_lock(&pool.lock);
    while (!pool.first && !pool.closed)
        pthread_cond_wait(&pool.changed, &pool.lock);
    struct task *task = pool.first;
    if (task)
        pool.first = task->next;
    pthread_mutex_unlock(&pool.lock);
    return task;
}

static void carry_out(const struct task *task)
{
    long sum = 0;

    if (task->to - task->from > LARGE) {
        const int middle = (task->from + task->to) / 2;
        submit(task->from, middle);
        submit(middle, task->to);
        return;
    }
    for (int i = task->from; i < task->to; i++) {
        numbers[i] *= 2; // the part belongs to this task alone
        sum += numbers[i];
    }
    pthread_mutex_lock(&total_lock);
    total += sum;
    pthread_mutex_unlock(&total_lock);
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (struct task *task; (task = next_task());) {
        carry_out(task);
        free(task);
        w->seen++;
        if (atomic_fetch_sub(&to_do, 1) == 1)
            close_pool();
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 80, 1});
    const int length = load.operations * 4;
    struct worker workers[MOST_THREADS];
    long expected = 0;

    numbers = calloc((size_t)length, sizeof(*numbers));
    if (!numbers)
        return 2;
    for (int i = 0; i < length; i++) {
        numbers[i] = (int)((load.seed + (unsigned)i) * 7919u % 1000u);
        expected += 2 * numbers[i];
    }
    submit(0, length);
    run_all(&load, workers, work);
    free(numbers);
    return verdict("thread_pool", total, expected, "is the sum");
}
