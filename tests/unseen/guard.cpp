// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data under a lock of the library that is reached by virtual functions. RACE: besides, data under no lock.
#include "programs/order.h"
#include "unseen/library.h"

static quiet_guard *guard;
static long sum RB_APART, outside RB_APART;

static void add_all()
{
    for (int i = 0; i < 3000; i++) {
        guard->lock();
        sum++;
        guard->unlock();
    }
}

static void *first(void *unused)
{
    add_all();
#ifdef RACE
    outside = 1;
#endif
    rb_reach(1);
    return unused;
}

static void *second(void *unused)
{
    add_all();
    rb_await(1);
#ifdef RACE
    outside = 2;
#endif
    return unused;
}

int main()
{
    pthread_t t[2];

    guard = quiet_guard_new();
    RB_CHECK(pthread_create(&t[0], NULL, first, NULL) == 0 && pthread_create(&t[1], NULL, second, NULL) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    RB_CHECK(sum == 6000);
    outside++;
    puts("done");
    return 0;
}
