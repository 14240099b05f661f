/* A named semaphore, opened twice under one name; written before sem_post. */
#include "../order.h"
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>

int data;
char name[64];
sem_t *posted, *waited;

static void first(void)
{
    data = 1;
    sem_post(posted);
    rb_reach(1);
}

static void second(void)
{
    sem_wait(waited);
    rb_await(1);
    data = 2;
}

int main(void)
{
    snprintf(name, sizeof(name), "/railbird-test-%d", (int)getpid());
    posted = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    RB_CHECK(posted != SEM_FAILED);
    waited = sem_open(name, 0);
    RB_CHECK(waited != SEM_FAILED);
    sem_unlink(name);
    rb_both(first, second);
    sem_close(posted);
    sem_close(waited);
    return 0;
}
