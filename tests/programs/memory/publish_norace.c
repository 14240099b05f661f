/* A new record is published by a release store and found by an acquire load. */
#include "../order.h"
#include <stdatomic.h>

#define STORE memory_order_release
#define LOAD  memory_order_acquire
struct record {
    long key, value;
};
struct record *record;
_Atomic(struct record *) head;

static void first(void)
{
    record->value = 1;
    atomic_store_explicit(&head, record, STORE);
    rb_reach(1);
}

static void second(void)
{
    struct record *seen;

    rb_await(1);
    seen = atomic_load_explicit(&head, LOAD);
    rb_use(seen->value);
}

int main(void)
{
    record = malloc(sizeof(*record));
    rb_both(first, second);
    free(record);
    return 0;
}
