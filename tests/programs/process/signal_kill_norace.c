/* Written before pthread_kill: the handler runs because of it, and is ordered after it. */
#include "../order.h"
#include <signal.h>

int data;
pthread_t receiver;

static void handler(int number)
{
    (void)number;
    rb_use(data);
    rb_reach(4);
}

static void child(void)
{
    rb_reach(1);
    rb_await_signals(4);
}

int main(void)
{
    signal(SIGUSR1, handler);
    receiver = rb_start(child);
    rb_await(1);
    data = 1;
    pthread_kill(receiver, SIGUSR1);
    pthread_join(receiver, NULL);
    return rb_done();
}
