/* Shared memory that two threads use. */
#include "../order.h"
#include <sys/shm.h>

int one, two, *memory;

static void first(void)
{
    memory[0] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    memory[0] = 2; /* RACE 2 */
}

int main(void)
{
    one = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    two = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    RB_CHECK(one >= 0 && two >= 0);
    memory = shmat(one, NULL, 0);
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    shmctl(one, IPC_RMID, NULL);
    shmctl(two, IPC_RMID, NULL);
    return rb_done();
}
