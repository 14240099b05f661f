// execs HOW FILE: becomes FILE, or starts it and waits, by the function HOW.
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *how = argv[1], *file = argv[2], *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    char *words[] = {(char *)file, (char *)"word", NULL};
    pid_t child;
    int status = 0;

    if (strcmp(how, "execve") == 0)
        execve(file, words, environ);
    else if (strcmp(how, "execv") == 0)
        execv(file, words);
    else if (strcmp(how, "execvp") == 0)
        execvp(name, words);
    else if (strcmp(how, "execvpe") == 0)
        execvpe(name, words, environ);
    else if (strcmp(how, "execl") == 0)
        execl(file, file, "word", (char *)NULL);
    else if (strcmp(how, "execlp") == 0)
        execlp(name, name, "word", (char *)NULL);
    else if (strcmp(how, "execle") == 0)
        execle(file, file, "word", (char *)NULL, environ);
    else if (strcmp(how, "vfork") == 0) {
        if ((child = vfork()) == 0) {
            execv(file, words);
            _exit(9);
        }
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    } else {
        const int r = strcmp(how, "posix_spawn") == 0 ? posix_spawn(&child, file, NULL, NULL, words, environ)
                                                      : posix_spawnp(&child, name, NULL, NULL, words, environ);
        if (r)
            return 8;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    printf("%s: %s\n", how, strerror(errno));
    return 9;
}
