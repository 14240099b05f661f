// A list in the heap that both threads push to and pop from: unprotected (both only push, and nothing is
// freed), or under a mutex, with blocks that are freed by one and given to the other.
#include "two.h"

struct node {
    struct node *next;
    long value;
};
static struct node *first;
static long length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void push(long value)
{
    struct node *n = malloc(sizeof(*n));

    n->value = value;
    if (!RACE)
        pthread_mutex_lock(&lock);
    n->next = first;
    first = n;
    length++;
    if (!RACE)
        pthread_mutex_unlock(&lock);
}

static long pop(void)
{
    struct node *n;
    long value = 0;

    pthread_mutex_lock(&lock);
    n = first;
    if (n) {
        first = n->next;
        length--;
    }
    pthread_mutex_unlock(&lock);
    if (n) {
        value = n->value;
        n->value += 1; // ours alone, until it is freed
        free(n);
    }
    return value;
}

static void *run(void *unused)
{
    long sum = 0;

    (void)unused;
    for (long i = 0; two_goes_on(); i++) {
        push(i);
        if (!RACE)
            sum += pop();
        two_pause(RACE ? 2000 : 20);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
