/* A new record is published by a relaxed store: its first values are not ordered before its readers. */
#include "../order.h"
#include <stdatomic.h>

#define STORE memory_order_relaxed
#define LOAD  memory_order_relaxed
struct record {
    long key, value;
};
struct record *record;
_Atomic(struct record *) head;

static void first(void)
{
    record->value = 1; /* RACE 1 */
    atomic_store_explicit(&head, record, STORE);
    rb_reach(1);
}

static void second(void)
{
    struct record *seen;

    rb_await(1);
    seen = atomic_load_explicit(&head, LOAD);
    rb_use(seen->value); /* RACE 2 */
}

int main(void)
{
    record = malloc(sizeof(*record));
    rb_both(first, second);
    free(record);
    return 0;
}
