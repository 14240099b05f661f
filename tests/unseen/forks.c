// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A child of fork goes on with the lock, with threads of its own. RACE: there, data under no lock as well.
#include "programs/order.h"
#include "unseen/library.h"
#include <sys/wait.h>

static int lock;
static long sum RB_APART, outside RB_APART;

static void *add(void *last)
{
    for (int i = 0; i < 1000; i++) {
        quiet_lock(&lock);
        sum++;
        quiet_unlock(&lock);
    }
#ifdef RACE
    if (last)
        outside++;
#else
    (void)last;
#endif
    return NULL;
}

static void run(void *last)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        RB_CHECK(pthread_create(&t[i], NULL, add, last) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

int main(void)
{
    int status;

    run(NULL);
    const pid_t child = fork();
    run(child ? NULL : &sum);
    RB_CHECK(sum == 4000);
    if (child) {
        RB_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        puts("done");
        return WEXITSTATUS(status);
    }
    return 0;
}
