/* A realloc that fails leaves the block as it was, and the lock in it. */
#include "../order.h"
#include <stddef.h>

struct block {
    pthread_mutex_t lock;
    int ready;
    char more[200];
};
static struct block *block;
int data[32];
size_t too_much = (size_t)1 << 62;

static void first(void)
{
    for (int i = 0; i < 32; i++)
        data[i] = 1;
    pthread_mutex_lock(&block->lock);
    block->ready = 1;
    pthread_mutex_unlock(&block->lock);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(realloc(block->more - offsetof(struct block, more), too_much) == NULL);
    pthread_mutex_lock(&block->lock);
    const int ready = block->ready;
    pthread_mutex_unlock(&block->lock);
    for (int i = 0; i < 32 && ready; i++)
        rb_use(data[i]);
}

int main(void)
{
    block = calloc(1, sizeof(*block));
    pthread_mutex_init(&block->lock, NULL);
    return rb_both(first, second);
}
