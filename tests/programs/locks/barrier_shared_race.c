/*
 * A barrier for three, one of them another process, whose arrivals nobody here sees: the two threads take
 * turns round by round, and both write after the last.
 */
#include "../order.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { ROUNDS = 60 };
int data;
pthread_barrier_t *barrier;

static void meet(int self)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == self)
            data++;
        pthread_barrier_wait(barrier);
    }
}

static void first(void)
{
    meet(0);
    data = -1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    meet(1);
    rb_await(1);
    data = -2; /* RACE 2 */
}

int main(void)
{
    pthread_barrierattr_t shared;
    int status;

    barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(barrier != MAP_FAILED);
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier, &shared, 3);
    const pid_t other = fork();
    if (other == 0) {
        meet(2);
        _exit(0);
    }
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    RB_CHECK(waitpid(other, &status, 0) == other && status == 0);
    return rb_done();
}
