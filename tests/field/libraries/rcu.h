// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program for both ways to use liburcu: as function calls, and inlined (_LGPL_SOURCE). A writer publishes blocks, readers
// use them, and a block is freed after a grace period, by the writer or by the thread of call_rcu. Queues and stacks without
// waiting hand blocks over.
#include "planted.h"
#include <stdio.h>
#include <stdlib.h>
#include <urcu.h>
#include <urcu/rculfhash.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfstack.h>

enum { ROUNDS = 200, COUNT = 500 };
struct block {
    long number, twice;
    struct rcu_head head;
    struct cds_wfcq_node node;
    struct cds_wfs_node link;
    struct cds_lfht_node entry;
};

static struct block *current;
static struct cds_wfcq_head queue_head;
static struct cds_wfcq_tail queue_tail;
static struct cds_wfs_stack stack;
static struct cds_lfht *table;
static long freed;

static void use(int thread)
{
    (void)thread;
    rcu_register_thread();
    rcu_read_lock();
    rcu_read_unlock();
    rcu_unregister_thread();
}

static struct block *make_block(long number)
{
    struct block *block = malloc(sizeof *block);
    block->number = number;
    block->twice = 2 * number;
    return block;
}

static void free_block(struct rcu_head *head)
{
    struct block *block = caa_container_of(head, struct block, head);
    block->number = block->twice = -1;
    freed++;
    free(block);
}

static void *read_blocks(void *unused)
{
    long wrong = 0;
    rcu_register_thread();
    for (int i = 0; i < 20 * ROUNDS; i++) {
        rcu_read_lock();
        struct block *block = rcu_dereference(current);
        wrong += block->twice != 2 * block->number;
        struct cds_lfht_iter iter;
        struct cds_lfht_node *node;
        cds_lfht_first(table, &iter);
        node = cds_lfht_iter_get_node(&iter);
        if (node)
            wrong += caa_container_of(node, struct block, entry)->twice < 0;
        rcu_read_unlock();
    }
    rcu_unregister_thread();
    (void)unused;
    return (void *)wrong;
}

static void *send_blocks(void *unused)
{
    rcu_register_thread();
    for (int i = 0; i < COUNT; i++) {
        struct block *queued = make_block(i), *stacked = make_block(i);
        cds_wfcq_node_init(&queued->node);
        cds_wfcq_enqueue(&queue_head, &queue_tail, &queued->node);
        cds_wfs_node_init(&stacked->link);
        cds_wfs_push(&stack, &stacked->link);
    }
    rcu_unregister_thread();
    return unused;
}

static long take_blocks(void)
{
    long sum = 0;
    for (int taken = 0; taken < 2 * COUNT;) {
        struct cds_wfcq_node *node = cds_wfcq_dequeue_blocking(&queue_head, &queue_tail);
        struct cds_wfs_node *link = cds_wfs_pop_blocking(&stack);
        struct block *queued = node ? caa_container_of(node, struct block, node) : NULL;
        struct block *stacked = link ? caa_container_of(link, struct block, link) : NULL;
        sum += (queued ? queued->number : 0) + (stacked ? stacked->number : 0);
        taken += (queued != NULL) + (stacked != NULL);
        free(queued);
        free(stacked);
        if (!node && !link)
            usleep(100);
    }
    return sum;
}

int main(int argc, char **argv)
{
    pthread_t readers[2], sender;
    long wrong = 0;
    rcu_register_thread();
    cds_wfcq_init(&queue_head, &queue_tail);
    cds_wfs_init(&stack);
    table = cds_lfht_new(16, 16, 16, 0, NULL);
    current = make_block(0);
    planted_start(argc, argv, use);
    for (int i = 0; i < 2; i++)
        pthread_create(&readers[i], NULL, read_blocks, NULL);
    pthread_create(&sender, NULL, send_blocks, NULL);
    for (int i = 1; i < ROUNDS; i++) {
        struct block *next = make_block(i), *old = rcu_xchg_pointer(&current, next), *listed = make_block(i);
        if (i % 10)
            call_rcu(&old->head, free_block);
        rcu_read_lock();
        cds_lfht_node_init(&listed->entry);
        cds_lfht_add(table, i % 7, &listed->entry);
        cds_lfht_del(table, &listed->entry);
        rcu_read_unlock();
        call_rcu(&listed->head, free_block);
        if (i % 10 == 0) {
            synchronize_rcu();
            old->number = old->twice = -1;
            free(old);
        }
    }
    long taken = take_blocks();
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(readers[i], &result);
        wrong += (long)result;
    }
    pthread_join(sender, NULL);
    rcu_barrier();
    planted_end();
    printf("%ld %ld %ld\n", wrong, taken, freed);
    cds_lfht_destroy(table, NULL);
    rcu_unregister_thread();
    return 0;
}
