// Documents in a table that nobody changes, parsed by all threads into trees of their own. Races: the
// references of shared documents are counted without atomics.
#include "detect.h"

enum { DOCUMENTS = 64, BYTES = 192, NODES = 128 };
struct document {
    long racy_refs;
    char text[BYTES];
};
struct node {
    struct node *left, *right;
    int key, count;
};
static struct document *documents[DOCUMENTS];
static long rounds;

static struct document *refer(struct document *d, int by)
{
    d->racy_refs += by;
    return d;
}

static int parse(const struct document *d, struct node *nodes)
{
    int used = 0;

    for (int i = 0; i + 1 < BYTES; i += 2) {
        const int key = d->text[i] * 16 + d->text[i + 1];
        struct node **at = &nodes[0].left;
        while (*at && (*at)->key != key)
            at = key < (*at)->key ? &(*at)->left : &(*at)->right;
        if (!*at && used + 1 < NODES) {
            *at = &nodes[++used];
            **at = (struct node){.key = key};
        }
        if (*at)
            (*at)->count++;
    }
    nodes[0].left = NULL;
    return used;
}

static void *body(void *number)
{
    const long me = (long)number;
    struct node *nodes = calloc(NODES, sizeof(*nodes));
    long sum = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        const int shared = is_due(me, i, rounds), which = (int)(i / (EVERY ? EVERY : 1) % DOCUMENTS);
        if (shared)
            together(THREADS);
        struct document *d = shared ? refer(documents[which], 1) : documents[which];
        sum += parse(d, nodes);
        if (shared)
            refer(d, -1);
    }
    expect(sum > 0, "trees are not empty");
    free(nodes);
    return NULL;
}

int main(void)
{
    unsigned random = seed_of(3);

    rounds = work(20000) / THREADS;
    for (int i = 0; i < DOCUMENTS; i++) {
        documents[i] = calloc(1, sizeof(struct document));
        for (int j = 0; j < BYTES; j++)
            documents[i]->text[j] = (char)(draw(&random) % 16);
    }
    crew(THREADS, body);
    return 0;
}
