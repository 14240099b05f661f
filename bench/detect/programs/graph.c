// Breadth-first traversals of a graph that nobody changes, with private marks and queues, roots from a shared
// counter under a lock. Races: the rank of some nodes is counted in a shared array.
#include "detect.h"

#ifndef NODES
#define NODES 4096
#endif
enum { DEGREE = 6 };
static unsigned edge[NODES][DEGREE];
int racy_rank[NODES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long next_root, roots;
static long visited;

static void rank(unsigned node)
{
    racy_rank[node]++;
}

static long traverse(unsigned root, unsigned char *seen, unsigned *list, long me, long *step)
{
    long first = 0, count = 1;

    memset(seen, 0, NODES);
    list[0] = root;
    seen[root] = 1;
    while (first < count) {
        const unsigned node = list[first++];
        think(roots / THREADS * NODES);
        for (int k = 0; k < DEGREE; k++) {
            const unsigned other = edge[node][k];
            if (seen[other])
                continue;
            seen[other] = 1;
            list[count++] = other;
        }
        if (is_due(me, (*step)++, roots / THREADS * NODES))
            rank(EVERY == 0 ? 0 : node);
    }
    return count;
}

static void *body(void *number)
{
    unsigned char *seen = malloc(NODES);
    unsigned *list = malloc(NODES * sizeof(*list));
    long mine = 0, step = 0;

    for (;;) {
        pthread_mutex_lock(&mutex);
        const long root = next_root++;
        visited += mine;
        pthread_mutex_unlock(&mutex);
        if (root >= roots)
            break;
        mine = traverse((unsigned)(root * 37 % NODES), seen, list, (long)number, &step);
    }
    free(seen);
    free(list);
    return NULL;
}

int main(void)
{
    unsigned random = seed_of(1);

    roots = work(1600000L / NODES);
    for (unsigned n = 0; n < NODES; n++)
        for (unsigned k = 0; k < DEGREE; k++)
            edge[n][k] = k ? draw(&random) % NODES : (n + 1) % NODES;
    crew(THREADS, body);
    expect(visited == roots * NODES, "every node was visited");
    return 0;
}
