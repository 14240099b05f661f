// A stack under one lock: what most programs have. Threads push numbers of their own and pop whatever is on
// top; nothing may get lost, and nothing may come out twice.
#include "common.h"

struct item {
    struct item *below;
    int value;
};

static struct {
    pthread_mutex_t lock;
    struct item *top;
    int depth, deepest;
} stack = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void push(int value)
{
    struct item *item = malloc(sizeof(*item));

    if (!item)
        exit(2);
    item->value = value; // nobody else has seen it yet
    pthread_mutex_lock(&stack.lock);
    item->below = stack.top;
    stack.top = item;
    if (++stack.depth > stack.deepest)
        stack.deepest = stack.depth;
    pthread_mutex_unlock(&stack.lock);
}

// -1: the stack is empty.
static int pop(void)
{
    struct item *item;
    int value = -1;

    pthread_mutex_lock(&stack.lock);
    item = stack.top;
    if (item) {
        stack.top = item->below;
        stack.depth--;
    }
    pthread_mutex_unlock(&stack.lock);
    if (item) {
        value = item->value; // nobody else can see it any more
        free(item);
    }
    return value;
}

static int peek(void)
{
    pthread_mutex_lock(&stack.lock);
    const int value = stack.top ? stack.top->value : -1;
    pthread_mutex_unlock(&stack.lock);
    return value;
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < w->load->operations; i++) {
        const int what = draw(w, 5);
        if (what < 2) {
            const int value = draw(w, 1000);
            push(value);
            w->added += value;
        } else if (what < 4) {
            const int value = pop();
            if (value >= 0)
                w->removed += value;
        } else {
            w->seen += peek() >= 0;
        }
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 50, 1});
    struct worker workers[MOST_THREADS];
    long left = 0, expected = 0;
    int value;

    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++)
        expected += workers[i].added - workers[i].removed;
    while ((value = pop()) >= 0)
        left += value;
    if (stack.depth != 0 || stack.deepest < 1) {
        printf("stack: empty and %d deep\n", stack.depth);
        return 1;
    }
    return verdict("stack", left, expected, "is the sum of what is left");
}
