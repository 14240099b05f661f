/* The parent goes on after fork, and races. */
#include "../order.h"
#include <sys/wait.h>

int data;

static void child(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    pthread_t thread = rb_start(child);
    int status;
    pid_t other;

    rb_await(1);
    other = fork();
    if (other == 0) {
        __asm__ volatile("movl $5, %0" : "=m"(data)); /* a copy, of no concern to the parent's threads */
        _exit(0);
    }
    RB_CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status));
    data = 2; /* RACE 2 */
    pthread_join(thread, NULL);
    return rb_done();
}
