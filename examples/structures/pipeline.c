// Stages that work in step: in every round each stage takes what the stage before it left in the last round,
// changes it and leaves it for the next one, in the other of two rows of cells; a barrier separates the
// rounds. Each stage also reports under a lock, which is what lets threads of one round meet.
#include "common.h"

#define CELLS 2 // rows: one is read while the other is written

static int rows[CELLS][MOST_THREADS + 1];
static pthread_barrier_t round_end;

// What the stages report, under one lock.
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    long items, largest;
} report[MOST_THREADS];
static long passed;

static int change(int value, int stage)
{
    return (value * 3 + stage) % 1009;
}

static void report_one(int stage, int value)
{
    pthread_mutex_lock(&report_lock);
    passed++;
    report[stage].items++;
    if (value > report[stage].largest)
        report[stage].largest = value;
    pthread_mutex_unlock(&report_lock);
}

// The first stage whose report is wrong, or -1.
static int wrong_stage(const struct load *load)
{
    for (int stage = 0; stage < load->threads; stage++) {
        long largest = 0;
        for (int item = 0; item < load->operations; item++) {
            int value = item;
            for (int s = 0; s <= stage; s++)
                value = change(value, s);
            if (value > largest)
                largest = value;
        }
        if (report[stage].items != load->operations || report[stage].largest != largest)
            return stage;
    }
    return -1;
}

// Item i enters stage 0 in round i and leaves the last stage in round i + threads - 1.
static void *work(void *argument)
{
    struct worker *w = argument;
    const int stage = w->number, stages = w->load->threads, items = w->load->operations;

    for (int round = 0; round < items + stages - 1; round++) {
        const int item = round - stage, from = round % CELLS, to = (round + 1) % CELLS;
        if (item >= 0 && item < items) {
            const int value = stage ? rows[from][stage] : item;
            rows[to][stage + 1] = change(value, stage);
            report_one(stage, rows[to][stage + 1]);
            if (stage == stages - 1)
                w->seen += rows[to][stage + 1];
        }
        breathe(w);
        pthread_barrier_wait(&round_end);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 40, 1});
    struct worker workers[MOST_THREADS];
    long expected = 0;

    pthread_barrier_init(&round_end, NULL, (unsigned)load.threads);
    run_all(&load, workers, work);
    pthread_barrier_destroy(&round_end);
    for (int item = 0; item < load.operations; item++) {
        int value = item;
        for (int stage = 0; stage < load.threads; stage++)
            value = change(value, stage);
        expected += value;
    }
    if (passed != (long)load.operations * load.threads || wrong_stage(&load) >= 0) {
        printf("pipeline: %ld items passed, stage %d is wrong\n", passed, wrong_stage(&load));
        return 1;
    }
    return verdict("pipeline", workers[load.threads - 1].seen, expected, "is the sum of the results");
}
