/*
 * Variables that loops come to only under a condition. It holds, and another thread writes them.
 */
#include "../order.h"

#define WANTED 77

struct node {
    int value;
    struct node *next;
};

int limit RB_APART;
long total RB_APART, hits RB_APART, found RB_APART;
static int table[64] RB_APART;
static struct node nodes[3] RB_APART;

__attribute__((noinline)) static int last_of(const struct node *n, int wanted)
{
    int r = 0;

    for (; n; n = n->next)
        if (n->value == wanted)
            r = limit; /* RACE 1 */
    return r;
}

__attribute__((noinline)) static void add(int n)
{
    for (int i = 0; i < n; i++)
        if (table[i] > 9)
            total += i; /* RACE 3 */
}

__attribute__((noinline)) static void count(int n, int wanted)
{
    for (int i = 0; i < n; i++)
        if (wanted)
            hits += i; /* RACE 5 */
        else
            found ^= i;
}

static void *child(void *unused)
{
    nodes[1].value = WANTED;
    table[5] = WANTED;
    nodes[0].next = &nodes[1];
    nodes[1].next = &nodes[2];
    rb_use(last_of(nodes, WANTED));
    add(64);
    count(64, table[5]);
    rb_reach(1);
    return unused;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, child, NULL);
    rb_await(1);
    limit = 1; /* RACE 2 */
    total = 1; /* RACE 4 */
    hits = 1;  /* RACE 6 */
    pthread_join(thread, NULL);
    return rb_done();
}
