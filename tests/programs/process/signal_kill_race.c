/* Written behind pthread_kill: not ordered before the handler. */
#include "../order.h"
#include <signal.h>

int data;
pthread_t receiver;

static void handler(int number)
{
    (void)number;
    rb_await(3);
    rb_use(data); /* RACE 2 */
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
    pthread_kill(receiver, SIGUSR1);
    data = 1; /* RACE 1 */
    rb_reach(3);
    pthread_join(receiver, NULL);
    return rb_done();
}
