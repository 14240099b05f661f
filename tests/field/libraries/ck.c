// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libck-dev
// Flags: -lck
// Concurrency Kit: inline assembly and volatile accesses in headers. A ring, a stack, a queue of one writer, spin locks, a lock
// for readers and writers, a sequence lock, a barrier, and epochs.
#include "planted.h"
#include <ck_barrier.h>
#include <ck_fifo.h>
#include <ck_pr.h>
#include <ck_ring.h>
#include <ck_rwlock.h>
#include <ck_spinlock.h>
#include <ck_stack.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 300 };
struct item {
    long number;
    ck_stack_entry_t entry;
};

static ck_ring_t ring;
static ck_ring_buffer_t slots[64];
static ck_stack_t stack = CK_STACK_INITIALIZER;
static ck_fifo_spsc_t fifo;
static ck_spinlock_fas_t fas = CK_SPINLOCK_FAS_INITIALIZER;
static ck_spinlock_ticket_t ticket = CK_SPINLOCK_TICKET_INITIALIZER;
static ck_spinlock_cas_t cas = CK_SPINLOCK_CAS_INITIALIZER;
static ck_rwlock_t rwlock = CK_RWLOCK_INITIALIZER;
static ck_barrier_centralized_t barrier = CK_BARRIER_CENTRALIZED_INITIALIZER;
static long under_fas, under_ticket, under_cas, under_rwlock, parts[2];

static void use(int thread)
{
    ck_spinlock_fas_t own = CK_SPINLOCK_FAS_INITIALIZER;
    (void)thread;
    ck_spinlock_fas_lock(&own);
    ck_spinlock_fas_unlock(&own);
}

static struct item *make_item(long number)
{
    struct item *item = malloc(sizeof *item);
    item->number = number;
    return item;
}

static void *send_items(void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        struct item *item = make_item(i);
        while (!ck_ring_enqueue_spsc(&ring, slots, item))
            sched_yield();
        ck_stack_push_upmc(&stack, &make_item(i)->entry);
        ck_fifo_spsc_entry_t *place = ck_fifo_spsc_recycle(&fifo);
        if (!place)
            place = malloc(sizeof *place);
        ck_fifo_spsc_enqueue(&fifo, place, make_item(i));
    }
    return unused;
}

static long take_items(void)
{
    long sum = 0;
    for (int taken = 0; taken < 3 * COUNT;) {
        int before = taken;
        struct item *item;
        ck_stack_entry_t *entry = ck_stack_pop_upmc(&stack);
        if (entry) {
            item = (struct item *)((char *)entry - offsetof(struct item, entry));
            sum += item->number; // not freed: another popper might read it, by the rules of this stack
            taken++;
        }
        if (ck_ring_dequeue_spsc(&ring, slots, &item)) {
            sum += item->number;
            free(item);
            taken++;
        }
        if (ck_fifo_spsc_dequeue(&fifo, &item)) {
            sum += item->number;
            free(item);
            taken++;
        }
        if (taken == before)
            sched_yield();
    }
    return sum;
}

static void *lock_all(void *argument)
{
    int me = (int)(long)argument;
    ck_barrier_centralized_state_t state = CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
    for (int i = 0; i < COUNT; i++) {
        if (i % 50 == 0) {
            parts[me] = i;
            ck_barrier_centralized(&barrier, &state, 2);
            if (parts[!me] != i)
                abort();
            ck_barrier_centralized(&barrier, &state, 2);
        }
        ck_spinlock_fas_lock(&fas);
        under_fas++;
        ck_spinlock_fas_unlock(&fas);
        ck_spinlock_cas_lock_eb(&cas);
        under_cas++;
        ck_spinlock_cas_unlock(&cas);
        ck_rwlock_write_lock(&rwlock);
        under_rwlock++;
        ck_rwlock_write_unlock(&rwlock);
        ck_rwlock_read_lock(&rwlock);
        if (under_rwlock < 0)
            abort();
        ck_rwlock_read_unlock(&rwlock);
        while (!ck_spinlock_ticket_trylock(&ticket))
            sched_yield();
        under_ticket++;
        ck_spinlock_ticket_unlock(&ticket);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    ck_ring_init(&ring, 64);
    ck_fifo_spsc_init(&fifo, malloc(sizeof(ck_fifo_spsc_entry_t)));
    planted_start(argc, argv, use);
    pthread_create(&threads[2], NULL, send_items, NULL);
    long sum = take_items();
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, lock_all, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", sum, under_fas, under_ticket, under_cas, under_rwlock);
    return 0;
}
