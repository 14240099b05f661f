// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libnsync-dev
// Flags: -lnsync
// nsync: mutexes, condition variables, conditional critical sections, notes, counters and one-time calls, all on its own words
// and a semaphore a thread.
#include "planted.h"
#include <nsync.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 500 };
static nsync_mu mu, shared_mu, queue_mu;
static nsync_cv cv;
static int turn, queued, once_value;
static long guarded, under_shared, taken, noted, counted;
static long *queue[COUNT];
static nsync_once once;
static nsync_note note;
static nsync_counter counter;
static long *noted_block, *counted_block;

static void use(int thread)
{
    nsync_mu own;
    (void)thread;
    nsync_mu_init(&own);
    nsync_mu_lock(&own);
    nsync_mu_unlock(&own);
}

static void set_once(void)
{
    once_value = 4;
}

static void *take_turns(void *argument)
{
    int me = (int)(long)argument;
    nsync_run_once(&once, set_once);
    for (int i = 0; i < COUNT; i++) {
        nsync_mu_lock(&mu);
        while (turn != me)
            nsync_cv_wait(&cv, &mu);
        guarded += once_value;
        turn = !turn;
        nsync_cv_broadcast(&cv);
        nsync_mu_unlock(&mu);
        nsync_mu_lock(&shared_mu);
        under_shared++;
        nsync_mu_unlock(&shared_mu);
        nsync_mu_rlock(&shared_mu);
        if (under_shared < 0)
            abort();
        nsync_mu_runlock(&shared_mu);
    }
    return NULL;
}

static int has_item(const void *unused)
{
    (void)unused;
    return queued > 0;
}

static void *take(void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        nsync_mu_lock(&queue_mu);
        nsync_mu_wait(&queue_mu, has_item, NULL, NULL);
        long *block = queue[--queued];
        nsync_mu_unlock(&queue_mu);
        taken += *block;
        free(block);
    }
    nsync_note_wait(note, nsync_time_no_deadline);
    noted += *noted_block;
    nsync_counter_wait(counter, nsync_time_no_deadline);
    counted += *counted_block;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    planted_start(argc, argv, use);
    note = nsync_note_new(NULL, nsync_time_no_deadline);
    counter = nsync_counter_new(1);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take_turns, (void *)i);
    pthread_create(&threads[2], NULL, take, NULL);
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        nsync_mu_lock(&queue_mu);
        queue[queued++] = block;
        nsync_mu_unlock(&queue_mu);
    }
    noted_block = malloc(sizeof *noted_block);
    *noted_block = 11;
    nsync_note_notify(note);
    counted_block = malloc(sizeof *counted_block);
    *counted_block = 12;
    nsync_counter_add(counter, -1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", guarded, under_shared, taken, noted, counted);
    return 0;
}
