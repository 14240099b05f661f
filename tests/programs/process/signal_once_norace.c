/* A handler with SA_RESETHAND asks for itself again, and is called wherever the thread happens to be. */
#define _GNU_SOURCE
#include "../order.h"
#include <signal.h>

#define TIMES 100

long data[64];
static volatile int came;

static void arm(void);

static void handler(int number)
{
    (void)number;
    data[0]++;
    came++;
    if (came < TIMES) {
        arm();
        ualarm(1000, 0);
    }
    rb_reach(came);
}

static void arm(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND}, before;

    RB_CHECK(sigaction(SIGALRM, &action, &before) == 0 && before.sa_handler == SIG_DFL);
    RB_CHECK(came == 0 || before.sa_flags & SA_RESETHAND);
}

int main(void)
{
    arm();
    ualarm(1000, 0);
    while (!rb_at(TIMES))
        for (int i = 1; i < 64; i++)
            data[i]++;
    return rb_done();
}
