// A sorted set of numbers as a linked list with a lock in every node, taken hand over hand: a thread holds
// the lock of the node before the one it is about to lock, so that nobody overtakes anybody and a node is
// unlinked only by a thread that holds it and its predecessor.
#include "common.h"

#define KEYS 24

struct node {
    int key;
    struct node *next;
    pthread_mutex_t lock;
};

static struct node head = {.key = -1, .lock = PTHREAD_MUTEX_INITIALIZER}; // never removed

static struct node *new_node(int key, struct node *next)
{
    struct node *n = malloc(sizeof(*n));

    if (!n)
        exit(2);
    n->key = key;
    n->next = next;
    pthread_mutex_init(&n->lock, NULL);
    return n;
}

// The last node with a smaller key and the one behind it (NULL at the end), both locked.
static struct node *find(int key, struct node **behind)
{
    struct node *before = &head, *at;

    pthread_mutex_lock(&before->lock);
    while ((at = before->next)) {
        pthread_mutex_lock(&at->lock);
        if (at->key >= key)
            break;
        pthread_mutex_unlock(&before->lock);
        before = at;
    }
    *behind = at;
    return before;
}

static void let_go(struct node *before, struct node *at)
{
    if (at)
        pthread_mutex_unlock(&at->lock);
    pthread_mutex_unlock(&before->lock);
}

static int insert(int key)
{
    struct node *at, *before = find(key, &at);
    const int is_new = !at || at->key != key;

    if (is_new)
        before->next = new_node(key, at);
    let_go(before, at);
    return is_new;
}

static int delete (int key)
{
    struct node *at, *before = find(key, &at);
    const int is_there = at && at->key == key;

    if (!is_there) {
        let_go(before, at);
        return 0;
    }
    before->next = at->next;
    let_go(before, at);
    pthread_mutex_destroy(&at->lock); // nobody waits for it: they would have to hold `before`
    free(at);
    return 1;
}

static int contains(int key)
{
    struct node *at, *before = find(key, &at);
    const int is_there = at && at->key == key;

    let_go(before, at);
    return is_there;
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < w->load->operations; i++) {
        const int what = draw(w, 4), key = draw(w, KEYS);
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
    const struct load load = load_of(argc, argv, (struct load){4, 16, 1});
    struct worker workers[MOST_THREADS];
    long length = 0, expected = 0;

    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++)
        expected += workers[i].added - workers[i].removed;
    for (struct node *n = head.next, *next; n; n = next) {
        next = n->next;
        if (next && next->key <= n->key) {
            printf("list: %d comes after %d\n", next->key, n->key);
            return 1;
        }
        length++;
        free(n);
    }
    return verdict("list", length, expected, "nodes");
}
