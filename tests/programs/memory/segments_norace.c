/* Shared memory that is attached where another segment has been: the address is the same, the memory is not.
 */
#include "../order.h"
#include <sys/shm.h>

int one, two;

static void first(void)
{
    int *memory = shmat(one, NULL, 0);

    memory[0] = 1;
    RB_CHECK(shmdt(memory) == 0);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    int *memory = shmat(two, NULL, 0);

    memory[0] = 2;
    RB_CHECK(shmdt(memory) == 0);
}

int main(void)
{
    one = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    two = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    RB_CHECK(one >= 0 && two >= 0);
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    shmctl(one, IPC_RMID, NULL);
    shmctl(two, IPC_RMID, NULL);
    return rb_done();
}
