// Readers and writers of a table, kept apart by hand: a mutex, two condition variables and three counters
// instead of a read-write lock. Writers that wait go before new readers. Whoever reads must find the table as
// one writer left it.
#include "common.h"

#define CELLS 8

static struct {
    pthread_mutex_t lock;
    pthread_cond_t readers_may, writers_may;
    int reading, writing, writers_waiting; // under lock
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .readers_may = PTHREAD_COND_INITIALIZER,
          .writers_may = PTHREAD_COND_INITIALIZER};

static int table[CELLS]; // all cells alike, except inside a writer

static void begin_read(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.writing || gate.writers_waiting)
        pthread_cond_wait(&gate.readers_may, &gate.lock);
    gate.reading++;
    pthread_mutex_unlock(&gate.lock);
}

static void end_read(void)
{
    pthread_mutex_lock(&gate.lock);
    if (--gate.reading == 0)
        pthread_cond_signal(&gate.writers_may);
    pthread_mutex_unlock(&gate.lock);
}

static void begin_write(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.writers_waiting++;
    while (gate.writing || gate.reading)
        pthread_cond_wait(&gate.writers_may, &gate.lock);
    gate.writers_waiting--;
    gate.writing = 1;
    pthread_mutex_unlock(&gate.lock);
}

static void end_write(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.writing = 0;
    if (gate.writers_waiting)
        pthread_cond_signal(&gate.writers_may);
    else
        pthread_cond_broadcast(&gate.readers_may);
    pthread_mutex_unlock(&gate.lock);
}

// 1 if the cells are not alike.
static int read_table(void)
{
    int torn = 0;

    begin_read();
    for (int i = 1; i < CELLS; i++)
        torn |= table[i] != table[0];
    end_read();
    return torn;
}

static void write_table(void)
{
    begin_write();
    for (int i = 0; i < CELLS; i++)
        table[i]++;
    end_write();
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < w->load->operations; i++) {
        if (draw(w, 4) == 0) {
            write_table();
            w->added++;
        } else if (read_table()) {
            w->seen++;
        }
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 40, 1});
    struct worker workers[MOST_THREADS];
    long expected = 0;

    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++) {
        expected += workers[i].added;
        if (workers[i].seen) {
            printf("readers_writers: thread %d saw a table half written %ld times\n", i, workers[i].seen);
            return 1;
        }
    }
    return verdict("readers_writers", table[CELLS - 1], expected, "writes");
}
