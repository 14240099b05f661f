/* System V semaphores: a wait for zero comes after what made it zero, and a wait after a value that was set.
 */
#include "../order.h"
#include <sys/sem.h>

int set, data, other;

static void change(unsigned short which, short by)
{
    struct sembuf operation = {which, by, 0};

    RB_CHECK(semop(set, &operation, 1) == 0);
}

static void first(void)
{
    data = 1;
    change(0, -1);
    other = 1;
    RB_CHECK(semctl(set, 1, SETVAL, 1) == 0);
    rb_reach(1);
}

static void second(void)
{
    change(0, 0);
    rb_await(1);
    data = 2;
    change(1, -1);
    other = 2;
}

int main(void)
{
    set = semget(IPC_PRIVATE, 2, 0600 | IPC_CREAT);
    RB_CHECK(set >= 0 && semctl(set, 0, SETVAL, 1) == 0);
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    semctl(set, 0, IPC_RMID);
    return rb_done();
}
