/* Writes behind what was sent to children of posix_spawn and popen. */
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
    RB_CHECK(fputs("x\n", stream) >= 0 && fflush(stream) == 0);
    other = 1; /* RACE 1 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(write(to[1], "x\n", 2) == 2);
    last = 1; /* RACE 3 */
    rb_reach(4);
}

static void second(void)
{
    char byte;

    RB_CHECK(read(from[0], &byte, 1) == 1);
    data = 2;
    rb_reach(1);
    RB_CHECK(read(back[0], &byte, 1) == 1);
    rb_await(2);
    other = 2; /* RACE 2 */
    rb_reach(3);
    RB_CHECK(waitpid(child, NULL, 0) == child);
    rb_await(4);
    last = 2; /* RACE 4 */
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
