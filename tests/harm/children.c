// Children and programs: what wait() gives, what SIGCHLD says, how fork, vfork, posix_spawn and exec behave,
// before and after a report was made.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "see.h"

extern char **environ;
static volatile sig_atomic_t ended;

static void on_child(int number)
{
    (void)number;
    ended++;
}

static void see_none(const char *when)
{
    int status = 0;

    errno = 0;
    const pid_t any = waitpid(-1, &status, WNOHANG);
    SEE("children", "%s: %d errno %d, SIGCHLD %d", when, any, errno, (int)ended);
    siginfo_t info;
    errno = 0;
    const int r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL);
    SEE("children of any kind", "%s: %d errno %d", when, r, errno);
}

static void see_end(const char *what, pid_t child)
{
    int status = 0;
    pid_t got;

    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    SEE("child", "%s: own %d exited %d status %d signal %d", what, got == child, WIFEXITED(status),
        WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static volatile int written;

static int ends(void *unused)
{
    (void)unused;
    _exit(9);
}

void see_children(const char *self)
{
    struct sigaction a = {.sa_handler = on_child, .sa_flags = SA_RESTART}, old;
    pid_t child;

    sigaction(SIGCHLD, &a, &old);
    see_none("before");
    meet_race();
    see_none("after a race");
    if ((child = fork()) == 0)
        _exit(3);
    see_end("fork", child);
    if ((child = fork()) == 0) {
        written = 1;
        abort();
    }
    see_end("fork, abort", child);
    SEE("the child's writes", "%d", written);
    if ((child = fork()) == 0) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    see_end("fork, SIGTERM", child);
    if ((child = vfork()) == 0)
        _exit(4);
    see_end("vfork", child);
    static char stack[65536] __attribute__((aligned(16)));
    child = clone(ends, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    see_end("clone that shares memory", child);
    if ((child = vfork()) == 0) {
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(127);
    }
    see_end("vfork, exec", child);
    char *const arguments[] = {(char *)(size_t) "sh", (char *)(size_t) "-c", (char *)(size_t) "exit 6", NULL};
    const int spawned = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    SEE("posix_spawn", "%d", spawned);
    see_end("posix_spawn", child);
    SEE("posix_spawn of nothing", "%d", posix_spawn(&child, "/nonexistent", NULL, NULL, arguments, environ));
    SEE("system", "%x", system("exit 8"));
    FILE *p = popen("echo from a shell", "r");
    char line[64] = "";
    if (p && fgets(line, sizeof(line), p))
        line[strcspn(line, "\n")] = 0;
    SEE("popen", "%s %x", line, p ? pclose(p) : -1);
    if ((child = fork()) == 0) {
        execl(self, self, "inner", (char *)NULL);
        _exit(127);
    }
    see_end("fork, exec of the program", child);
    see_none("at the end");
    sigaction(SIGCHLD, &old, NULL);
}
