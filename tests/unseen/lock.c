// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data under the library's spin lock. RACE: besides, data under no lock.
#include "programs/order.h"
#include "unseen/library.h"

static int lock;
static long sum RB_APART, outside RB_APART;

static void add_all(void)
{
    for (int i = 0; i < 3000; i++) {
        quiet_lock(&lock);
        sum++;
        quiet_unlock(&lock);
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

int main(void)
{
    pthread_t t[2];
    char text[100];
    const double all = quiet_sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);

    RB_CHECK(pthread_create(&t[0], NULL, first, NULL) == 0 && pthread_create(&t[1], NULL, second, NULL) == 0);
    for (int i = 0; i < 1000; i++) {
        RB_CHECK(quiet_sum(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) == all && all == 1496);
        RB_CHECK(quiet_print(text, "%d %s %.2f %ld %d %d %d", i, "a", 0.5 * i, 7L, 8, 9, 10) > 0);
    }
    printf("%s\n", text);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    RB_CHECK(sum == 6000);
    outside++;
    puts("done");
    return 0;
}
