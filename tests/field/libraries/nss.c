// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libnss3-dev libnspr4-dev
// Flags: $(pkg-config --cflags --libs nss)
// NSPR and NSS: locks, monitors, conditions, atomic operations, one-time calls, thread-private values with destructors, a pool
// of jobs, and digests and random bytes of one token that threads share.
#include "planted.h"
#include <nspr.h>
#include <nss.h>
#include <pk11pub.h>
#include <prtpool.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 300 };
static PRLock *lock;
static PRCondVar *cond;
static PRMonitor *monitor;
static PRRWLock *rwlock;
static PRCallOnceType once;
static PRInt32 references;
static PRUintn private_index;
static long guarded, under_monitor, under_rwlock, once_value, pooled, cleaned;
static int turn, *counted_block;

static void use(int thread)
{
    PRLock *own = PR_NewLock();
    (void)thread;
    PR_Lock(own);
    PR_Unlock(own);
    PR_DestroyLock(own);
}

static PRStatus set_once(void)
{
    once_value = 8;
    return PR_SUCCESS;
}

static void clean(void *value)
{
    PR_Lock(lock);
    cleaned += *(long *)value;
    PR_Unlock(lock);
    free(value);
}

static void run(void *argument)
{
    int me = (int)(long)argument;
    long *own = malloc(sizeof *own);
    PR_CallOnce(&once, set_once);
    *own = once_value;
    PR_SetThreadPrivate(private_index, own);
    for (int i = 0; i < COUNT; i++) {
        PR_Lock(lock);
        while (turn != me)
            PR_WaitCondVar(cond, PR_INTERVAL_NO_TIMEOUT);
        guarded++;
        turn = !turn;
        PR_NotifyAllCondVar(cond);
        PR_Unlock(lock);
        PR_EnterMonitor(monitor);
        under_monitor++;
        PR_ExitMonitor(monitor);
        PR_RWLock_Wlock(rwlock);
        under_rwlock++;
        PR_RWLock_Unlock(rwlock);
        if (i % 10 == 0) {
            unsigned char digest[32], random[16];
            PK11_GenerateRandom(random, sizeof random);
            PK11_HashBuf(SEC_OID_SHA256, digest, random, sizeof random);
        }
    }
    if (me)
        *counted_block += 5; // the thread with the last reference reads it
    if (PR_ATOMIC_DECREMENT(&references) == 0) {
        PR_Lock(lock);
        guarded += *counted_block;
        PR_Unlock(lock);
        free(counted_block);
    }
}

static void do_job(void *argument)
{
    long *block = argument;
    *block += 1;
}

int main(int argc, char **argv)
{
    PRThread *threads[2];
    PRJob *jobs[50];
    long *blocks[50];
    NSS_NoDB_Init(NULL);
    lock = PR_NewLock();
    cond = PR_NewCondVar(lock);
    monitor = PR_NewMonitor();
    rwlock = PR_NewRWLock(0, "rwlock");
    PR_NewThreadPrivateIndex(&private_index, clean);
    references = 2;
    counted_block = calloc(1, sizeof *counted_block);
    planted_start(argc, argv, use);
    for (long i = 0; i < 2; i++)
        threads[i] = PR_CreateThread(PR_USER_THREAD, run, (void *)i, PR_PRIORITY_NORMAL, PR_GLOBAL_THREAD,
                                     PR_JOINABLE_THREAD, 0);
    PRThreadPool *pool = PR_CreateThreadPool(2, 3, 0);
    for (long i = 0; i < 50; i++) {
        blocks[i] = malloc(sizeof *blocks[i]);
        *blocks[i] = i;
        jobs[i] = PR_QueueJob(pool, do_job, blocks[i], PR_TRUE);
    }
    for (int i = 0; i < 50; i++) {
        PR_JoinJob(jobs[i]);
        pooled += *blocks[i];
        free(blocks[i]);
    }
    for (int i = 0; i < 2; i++)
        PR_JoinThread(threads[i]);
    PR_ShutdownThreadPool(pool);
    PR_JoinThreadPool(pool);
    planted_end();
    NSS_Shutdown();
    printf("%ld %ld %ld %ld %ld\n", guarded, under_monitor, under_rwlock, cleaned, pooled);
    return 0;
}
