/* Order that comes by way of children of posix_spawn and popen: two pipes, a stream and a pipe, a pipe and an
 * end. */
#include "../order.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
int to[2], from[2], back[2];
int RB_APART data, RB_APART other, RB_APART last;
pid_t child;
FILE *stream;

static void first(void)
{
    data = 1;
    RB_CHECK(write(to[1], "x\n", 2) == 2);
    rb_await(1);
    other = 1;
    RB_CHECK(fputs("x\n", stream) >= 0 && fflush(stream) == 0);
    rb_await(2);
    last = 1;
    RB_CHECK(write(to[1], "x\n", 2) == 2);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(from[0], &byte, 1) == 1);
    data = 2;
    rb_reach(1);
    RB_CHECK(read(back[0], &byte, 1) == 1);
    other = 2;
    rb_reach(2);
    RB_CHECK(waitpid(child, NULL, 0) == child);
    last = 2;
}

int main(void)
{
    char *words[] = {"sh", "-c", "read x; echo $x; read x", NULL}, command[64];
    posix_spawn_file_actions_t does;

    RB_CHECK(pipe(to) == 0 && pipe(from) == 0 && pipe(back) == 0);
    posix_spawn_file_actions_init(&does);
    posix_spawn_file_actions_adddup2(&does, to[0], 0);
    posix_spawn_file_actions_adddup2(&does, from[1], 1);
    RB_CHECK(posix_spawn(&child, "/bin/sh", &does, NULL, words, environ) == 0);
    posix_spawn_file_actions_destroy(&does);
    snprintf(command, sizeof(command), "read x; echo $x >&%d", back[1]);
    stream = popen(command, "w");
    RB_CHECK(stream);
    const int status = rb_both(first, second);
    RB_CHECK(pclose(stream) == 0);
    return status;
}
