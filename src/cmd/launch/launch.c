// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Children: finding, starting and awaiting programs, and forwarding signals to them.
#include "cmd/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

static bool can_run(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return false;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0) {
        errno = EACCES;
        return false;
    }
    return true;
}

char *launch_find(const char *name)
{
    const char *path = getenv("PATH"), *end;
    bool refused = false;

    if (strchr(name, '/'))
        return can_run(name) ? strdup(name) : NULL;
    if (!path)
        path = "/bin:/usr/bin"; // the default of execvp
    for (; *name; path = end + 1) {
        char *file;

        end = strchrnul(path, ':');
        if (asprintf(&file, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "", name) < 0)
            return NULL;
        if (can_run(file))
            return file;
        refused |= errno == EACCES;
        free(file);
        if (!*end)
            break;
    }
    errno = refused ? EACCES : ENOENT;
    return NULL;
}

char *launch_need(const char *name, struct rb_error *e)
{
    char *path = launch_find(name);
    const char *why = path ? "" : strerror(errno);
    const bool here = !path && !strchr(name, '/') && access(name, X_OK) == 0;

    if (!path)
        rb_bad_input(e, "cannot run '%s': %s%s", name, why, here ? "; the one here is ./ and its name" : "");
    return path;
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

int launch_capture(char *const *words, bool both, char *out, size_t room)
{
    int pipes[2];
    size_t used = 0;
    ssize_t got;

    out[0] = 0;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        const int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDIN_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        dup2(both ? pipes[1] : nothing, STDERR_FILENO);
        execvp(words[0], words);
        _exit(127);
    }
    close(pipes[1]);
    if (pid > 0) {
        char rest[4096]; // read to the end, or the child would die of SIGPIPE
        do {
            const bool full = used + 1 >= room;
            got = read(pipes[0], full ? rest : out + used, full ? sizeof(rest) : room - used - 1);
            if (got > 0 && !full)
                used += (size_t)got;
        } while (got > 0 || (got < 0 && errno == EINTR));
        out[used] = 0;
    }
    close(pipes[0]);
    return pid > 0 ? wait_for(pid) : -1;
}

int launch_read(char *const *words, char *out, size_t room)
{
    return launch_capture(words, false, out, room);
}

char *launch_setenv(const char *name, const char *value)
{
    const char *now = getenv(name);
    char *before = now ? strdup(now) : NULL;

    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return before;
}

// ---- a child in our place ------------------------------------------------------------------------------

// The signals that are forwarded to the child, unless it has them already. A signal of the terminal, or of
// kill() to the group, reaches the whole group, and the child with it. Such a signal must only not end this
// process first. Forwarding it would deliver it twice, and some programs end at once at the second.
static const int forwarded[] = {SIGTERM,  SIGHUP,  SIGUSR1, SIGUSR2, SIGALRM,
                                SIGWINCH, SIGCONT, SIGINT,  SIGQUIT};

static volatile pid_t child;

static void forward_signal(int signal, siginfo_t *info, void *context)
{
    const int before = errno;

    (void)context;
    if (child > 0 && info->si_code != SI_KERNEL && !witness_saw(signal)) // SI_KERNEL: the terminal
        kill(child, signal);
    errno = before;
}

int launch_run(char *const *words, int stdout_to, struct launch *l)
{
    struct sigaction action = {.sa_sigaction = forward_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction before[RB_LENGTH(forwarded)], child_before;
    const struct sigaction waits = {.sa_handler = SIG_DFL};
    int pipes[2], problem = 0;
    sigset_t all, mask, passed_on;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return errno;
    sigfillset(&action.sa_mask);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); // no signal may arrive between fork and `child = `
    sigemptyset(&passed_on);
    for (size_t i = 0; i < RB_LENGTH(forwarded); i++) {
        sigaddset(&passed_on, forwarded[i]);
        sigaction(forwarded[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) // nohup
            sigaction(forwarded[i], &action, NULL);
    }
    sigaction(SIGCHLD, &waits, &child_before); // if it is ignored, waitpid gets no status
    witness_start(&passed_on);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < RB_LENGTH(forwarded); i++)
            sigaction(forwarded[i], &before[i], NULL);
        sigaction(SIGCHLD, &child_before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL); // kill -9 of this process is meant for the child
        if (getppid() != parent)
            _exit(127);
        if (stdout_to >= 0)
            dup2(stdout_to, STDOUT_FILENO);
        sigprocmask(SIG_SETMASK, &mask, NULL);
        execvp(words[0], words);
        problem = errno;
        (void)!write(pipes[1], &problem, sizeof(problem));
        _exit(127);
    }
    problem = pid < 0 ? errno : 0;
    child = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pipes[1]);
    if (pid > 0) {
        ssize_t got;
        while ((got = read(pipes[0], &problem, sizeof(problem))) < 0 && errno == EINTR)
            ;
        l->pid = pid;
        l->status = wait_for(pid);
    }
    close(pipes[0]);
    child = 0;
    witness_end();
    for (size_t i = 0; i < RB_LENGTH(forwarded); i++)
        sigaction(forwarded[i], &before[i], NULL);
    sigaction(SIGCHLD, &child_before, NULL);
    return problem;
}

int launch_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int launch_end_like(int status)
{
    if (WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        const int signal_number = WTERMSIG(status);
        sigset_t one;

        fflush(NULL);
        setrlimit(RLIMIT_CORE, &none);
        signal(signal_number, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, signal_number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(signal_number);
    }
    return launch_exit_status(status);
}
