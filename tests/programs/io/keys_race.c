/* A write behind what another finds by its key. */
#include "../order.h"
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

struct {
    int x RB_APART;
} data[4];
static key_t key;
static int own;

static void set_up(void)
{
    key = (key_t)(0x52000000 | getpid());
    own = shmget(IPC_PRIVATE, 4096, 0600);
    RB_CHECK(own >= 0);
}

static void first(void)
{
    data[0].x = 1;
    int queue = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    RB_CHECK(queue >= 0);
    data[1].x = 1;
    int set = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    RB_CHECK(set >= 0);
    data[2].x = 1;
    int segment = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
    RB_CHECK(segment >= 0);
    data[3].x = 1;
    RB_CHECK(shmat(own, NULL, 0) != (void *)-1);
    data[3].x = 3; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    int found;
    while ((found = msgget(key, 0600)) < 0)
        sched_yield();
    data[0].x = 2;
    int set;
    while ((set = semget(key, 1, 0600)) < 0)
        sched_yield();
    data[1].x = 2;
    int segment;
    while ((segment = shmget(key, 4096, 0600)) < 0)
        sched_yield();
    data[2].x = 2;
    struct shmid_ds now;
    do
        RB_CHECK(shmctl(own, IPC_STAT, &now) == 0);
    while (now.shm_nattch == 0);
    rb_await(1);
    data[3].x = 2; /* RACE 2 */
    msgctl(found, IPC_RMID, NULL);
    semctl(set, 0, IPC_RMID);
    shmctl(segment, IPC_RMID, NULL);
    shmctl(own, IPC_RMID, NULL);
}

int main(void)
{
    set_up();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
