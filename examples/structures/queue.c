// A bounded queue between producers and consumers: two semaphores count the places that are free and filled,
// and each end has a lock of its own, so that a producer and a consumer work at the same time on different
// places.
#include <semaphore.h>

#include "common.h"

#define PLACES 6

static struct {
    int place[PLACES];
    sem_t empty, filled;
    pthread_mutex_t front_lock, back_lock;
    unsigned front, back; // each under its lock
} queue = {.front_lock = PTHREAD_MUTEX_INITIALIZER, .back_lock = PTHREAD_MUTEX_INITIALIZER};

static void enqueue(int value)
{
    sem_wait(&queue.empty);
    pthread_mutex_lock(&queue.back_lock);
    queue.place[queue.back % PLACES] = value;
    queue.back++;
    pthread_mutex_unlock(&queue.back_lock);
    sem_post(&queue.filled);
}

static int dequeue(void)
{
    sem_wait(&queue.filled);
    pthread_mutex_lock(&queue.front_lock);
    const int value = queue.place[queue.front % PLACES];
    queue.front++;
    pthread_mutex_unlock(&queue.front_lock);
    sem_post(&queue.empty);
    return value;
}

// What a thread has taken or put, in a table under a lock of its own: producers and consumers meet here as
// well.
static struct {
    pthread_mutex_t lock;
    long put, taken;
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(long put, long taken)
{
    pthread_mutex_lock(&ledger.lock);
    ledger.put += put;
    ledger.taken += taken;
    pthread_mutex_unlock(&ledger.lock);
}

// Half of the threads put, half take, as many values each.
static void *work(void *argument)
{
    struct worker *w = argument;
    const int pairs = w->load->threads / 2, producer = w->number < pairs;

    if (w->number >= 2 * pairs) { // the odd one only looks on
        for (int i = 0; i < w->load->operations; i++) {
            note(0, 0);
            breathe(w);
        }
        return NULL;
    }
    for (int i = 0; i < w->load->operations; i++) {
        if (producer) {
            const int value = draw(w, 1000);
            enqueue(value);
            w->added += value;
            if (i % 4 == 3)
                note(value, 0);
        } else {
            const int value = dequeue();
            w->removed += value;
            if (i % 4 == 3)
                note(0, value);
        }
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 60, 1});
    struct worker workers[MOST_THREADS];
    long put = 0, taken = 0;

    sem_init(&queue.empty, 0, PLACES);
    sem_init(&queue.filled, 0, 0);
    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++) {
        put += workers[i].added;
        taken += workers[i].removed;
    }
    if (queue.front != queue.back || ledger.put > put || ledger.taken > taken) {
        printf("queue: %u put, %u taken\n", queue.back, queue.front);
        return 1;
    }
    return verdict("queue", taken, put, "is the sum of what was taken");
}
