/* Written behind sigaction: not ordered before the handler. */
#include "../order.h"
#include <signal.h>

int data;

static void handler(int number)
{
    (void)number;
    rb_use(data); /* RACE 2 */
    rb_reach(3);
}

static void first(void)
{
    struct sigaction action = {.sa_handler = handler};

    rb_await(1);
    sigaction(SIGUSR1, &action, NULL);
    data = 1; /* RACE 1 */
    rb_reach(2);
}

static void second(void)
{
    rb_reach(1);
    rb_await_signals(3);
}

int main(void)
{
    pthread_t maker = rb_start(first), receiver = rb_start(second);

    rb_await(2);
    pthread_kill(receiver, SIGUSR1); /* by a thread that is ordered after neither */
    pthread_join(receiver, NULL);
    pthread_join(maker, NULL);
    return rb_done();
}
