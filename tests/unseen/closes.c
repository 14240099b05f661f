// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plugin with hooks that calls the library is opened and closed again and again, while two threads use the library by
// slots of the program. RACE: besides, data under no lock.
#include "programs/order.h"
#include "unseen/library.h"
#include <dlfcn.h>

static int lock;
static long sum RB_APART, outside RB_APART;

static void *first(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        quiet_lock(&lock);
        sum++;
        quiet_unlock(&lock);
    }
#ifdef RACE
    outside = 1;
#endif
    rb_reach(1);
    rb_await(2); // the end of a thread is in order with what dlclose does later
    return unused;
}

static void *second(void *unused)
{
    for (int i = 0; i < 60; i++) {
        void *plugin = dlopen("./plugin.so", RTLD_NOW);
        RB_CHECK(plugin);
        void (*add)(int *, long *) = (void (*)(int *, long *))dlsym(plugin, "plugin_add");
        RB_CHECK(add);
        for (int k = 0; k < 50; k++)
            add(&lock, &sum);
        RB_CHECK(dlclose(plugin) == 0);
    }
    rb_await(1);
#ifdef RACE
    outside = 2;
#endif
    rb_reach(2);
    return unused;
}

int main(void)
{
    pthread_t t[2];

    RB_CHECK(pthread_create(&t[0], NULL, first, NULL) == 0 && pthread_create(&t[1], NULL, second, NULL) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    RB_CHECK(sum == 6000);
    outside++;
    puts("done");
    return 0;
}
