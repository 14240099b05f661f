// A set as a binary search tree under a read-write lock: lookups and sums share it, insertions and removals
// have it to themselves. Lookups count in a table that has a lock of its own, taken while the tree is held to
// read.
#include "common.h"

#define KEYS 48

struct node {
    int key;
    struct node *child[2];
};

static pthread_rwlock_t tree_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct node *root;
static long nodes; // under tree_lock

static pthread_mutex_t hits_lock = PTHREAD_MUTEX_INITIALIZER;
static long hits[KEYS];

// The link that points to the node of `key`, or to the NULL where it belongs. With the lock held.
static struct node **link_to(int key)
{
    struct node **link = &root;

    while (*link && (*link)->key != key)
        link = &(*link)->child[key > (*link)->key];
    return link;
}

static int insert(int key)
{
    pthread_rwlock_wrlock(&tree_lock);
    struct node **link = link_to(key);
    const int is_new = !*link;
    if (is_new) {
        *link = calloc(1, sizeof(**link));
        if (!*link)
            exit(2);
        (*link)->key = key;
        nodes++;
    }
    pthread_rwlock_unlock(&tree_lock);
    return is_new;
}

static int delete (int key)
{
    pthread_rwlock_wrlock(&tree_lock);
    struct node **link = link_to(key), *old = *link;
    if (old && old->child[0] && old->child[1]) { // the next larger key takes its place
        struct node **next = &old->child[1];
        while ((*next)->child[0])
            next = &(*next)->child[0];
        old->key = (*next)->key;
        link = next;
        old = *link;
    }
    if (old) {
        *link = old->child[0] ? old->child[0] : old->child[1];
        nodes--;
    }
    pthread_rwlock_unlock(&tree_lock);
    free(old);
    return old != NULL;
}

static int contains(int key)
{
    pthread_rwlock_rdlock(&tree_lock);
    const int is_there = *link_to(key) != NULL;
    if (is_there) {
        pthread_mutex_lock(&hits_lock);
        hits[key]++;
        pthread_mutex_unlock(&hits_lock);
    }
    pthread_rwlock_unlock(&tree_lock);
    return is_there;
}

static long count(const struct node *n, int low, int high)
{
    if (!n)
        return 0;
    if (n->key <= low || n->key >= high) {
        printf("tree_set: %d is not between %d and %d\n", n->key, low, high);
        exit(1);
    }
    return 1 + count(n->child[0], low, n->key) + count(n->child[1], n->key, high);
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < w->load->operations; i++) {
        const int what = draw(w, 6), key = draw(w, KEYS);
        if (what < 2)
            w->added += insert(key);
        else if (what == 2)
            w->removed += delete (key);
        else
            w->seen += contains(key);
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 40, 1});
    struct worker workers[MOST_THREADS];
    long expected = 0, seen = 0, counted = 0;

    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++) {
        expected += workers[i].added - workers[i].removed;
        seen += workers[i].seen;
    }
    for (int i = 0; i < KEYS; i++)
        counted += hits[i];
    if (counted != seen || nodes != expected) {
        printf("tree_set: %ld lookups and %ld counted, %ld nodes\n", seen, counted, nodes);
        return 1;
    }
    return verdict("tree_set", count(root, -1, KEYS), expected, "nodes");
}
