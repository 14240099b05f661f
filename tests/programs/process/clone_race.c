/*
 * Children by clone() without shared memory are those of fork: they run while another thread of their parent
 * is in the middle of an operation, and use what it was at. The word that says it is ready is not released.
 */
#include "../order.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

int data, ready;
static long counter;
static char stack[64 << 10] __attribute__((aligned(64)));

static int child(void *times)
{
    for (long i = 0; i < (long)times; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    data = 3;
    return 7;
}

static void first(void)
{
    data = 1; /* RACE 1 */
    __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);
    while (!rb_at(1))
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
}

static void second(void)
{
    int status;

    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < 50; i++) {
        const pid_t pid = clone(child, stack + sizeof(stack), SIGCHLD, (void *)1000L);
        RB_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    data = 2; /* RACE 2 */
    rb_reach(1);
}

int main(void)
{
    return rb_both(first, second);
}
