// A work queue with conditions; jobs smooth an array of their own. Races: the slow path, which some jobs
// take, notes the job without the lock.
#include "detect.h"

enum { ROOM = 64, WORDS = 512, PASSES = 3 };
struct job {
    long number;
    unsigned seed;
};
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t some, room;
    struct job job[ROOM];
    int first, count;
    long done;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .some = PTHREAD_COND_INITIALIZER,
           .room = PTHREAD_COND_INITIALIZER};
static long jobs;
long racy_slow_jobs, racy_last_slow;

static void put(struct job j)
{
    pthread_mutex_lock(&queue.mutex);
    while (queue.count == ROOM)
        pthread_cond_wait(&queue.room, &queue.mutex);
    queue.job[(queue.first + queue.count++) % ROOM] = j;
    pthread_cond_signal(&queue.some);
    pthread_mutex_unlock(&queue.mutex);
}

static struct job get(void)
{
    pthread_mutex_lock(&queue.mutex);
    while (queue.count == 0)
        pthread_cond_wait(&queue.some, &queue.mutex);
    const struct job j = queue.job[queue.first];
    queue.first = (queue.first + 1) % ROOM;
    queue.count--;
    pthread_cond_signal(&queue.room);
    pthread_mutex_unlock(&queue.mutex);
    return j;
}

// As many neighbours in the queue as there are threads are slow, every so often: each of them has another
// thread when they wait for each other.
static int is_slow(long number)
{
    const long every = EVERY ? EVERY : jobs / 2, group = number / every * every;

    return number - group < THREADS && group + THREADS <= jobs && (EVERY || group == every);
}

static void count_slow(void)
{
    racy_slow_jobs++;
}

static void note_slow(long number)
{
    racy_last_slow = number;
}

static void *body(void *unused)
{
    int *a = malloc(WORDS * sizeof(int));
    struct job j;

    while ((j = get()).number >= 0) {
        think(jobs / THREADS);
        for (int i = 0; i < WORDS; i++)
            a[i] = (int)(draw(&j.seed) >> 8);
        for (int p = 0; p < PASSES; p++)
            for (int i = 1; i < WORDS - 1; i++)
                a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        if (is_slow(j.number)) {
            together(THREADS);
            count_slow();
            note_slow(j.number);
        }
        pthread_mutex_lock(&queue.mutex);
        queue.done++;
        pthread_mutex_unlock(&queue.mutex);
    }
    free(a);
    return unused;
}

static void *feed(void *number)
{
    if ((long)number)
        return body(NULL);
    for (long i = 0; i < jobs; i++)
        put((struct job){i, seed_of(i)});
    for (int i = 0; i < THREADS; i++)
        put((struct job){-1, 0});
    return NULL;
}

int main(void)
{
    jobs = work(6000);
    crew(THREADS + 1, feed);
    expect(queue.done == jobs, "every job was done");
    return 0;
}
