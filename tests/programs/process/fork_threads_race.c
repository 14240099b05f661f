/* A process with threads forks; the child, which has but one, creates others, and they race. */
#include "../order.h"
#include <sys/wait.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void bystander(void)
{
    rb_reach(1);
    rb_await(100);
}

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(2);
}

static void second(void)
{
    rb_await(2);
    data = 2; /* RACE 2 */
}

int main(void)
{
    pthread_t thread = rb_start(bystander);
    int status;
    pid_t child;

    rb_await(1);
    child = fork();
    if (child == 0)
        return rb_both(first, second);
    RB_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    rb_reach(100);
    pthread_join(thread, NULL);
    rb_done();
    exit(WEXITSTATUS(status)); /* the parent's verdict is the child's */
}
