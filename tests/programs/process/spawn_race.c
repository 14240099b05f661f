/* posix_spawn, vfork and system do their work, and races are found behind them. */
#include "../order.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
int data;

static void child(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

int main(void)
{
    char *arguments[] = {"sh", "-c", "exit 5", NULL};
    pthread_t thread = rb_start(child);
    int status;
    pid_t other;

    RB_CHECK(posix_spawn(&other, "/bin/sh", NULL, NULL, arguments, environ) == 0);
    RB_CHECK(waitpid(other, &status, 0) == other && WEXITSTATUS(status) == 5);
    other = vfork();
    if (other == 0) {
        execv("/bin/sh", arguments);
        _exit(9);
    }
    RB_CHECK(waitpid(other, &status, 0) == other && WEXITSTATUS(status) == 5);
    status = system("exit 6");
    RB_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
    rb_await(1);
    data = 2; /* RACE 2 */
    pthread_join(thread, NULL);
    return rb_done();
}
