// measure TIMEOUT RESULT COMMAND… [--load COMMAND…]: runs a program and writes what it used to RESULT, as one
// JSON object. With
// --load, the first is a server: the second is its load, and when that has ended the server is asked to
// (SIGTERM).
//
// A small program of its own, because a child's peak memory as the kernel counts it begins with what the
// process had that started it. CPU time is of the program and all it waited for; the load's is told apart.
// What the rest of the machine did meanwhile (`other`, `steal`: seconds on all processors) comes with it, so
// that the caller can tell a run that was disturbed. Address space is laid out the same way each time where
// the system allows it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int fd, status;
    bool ended;
    struct rusage used;
};

struct machine {
    double busy, steal;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double cpu(const struct rusage *u)
{
    return seconds(u->ru_utime) + seconds(u->ru_stime);
}

// Interrupts are left out: they are the network's, and ours as much as anybody's.
static struct machine machine(void)
{
    unsigned long long user, nice, system, idle, wait, irq, soft, steal = 0;
    const double tick = (double)sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "r");

    if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait,
                     &irq, &soft, &steal) < 8) {
        fprintf(stderr, "measure: /proc/stat cannot be read\n");
        exit(2);
    }
    fclose(f);
    return (struct machine){(double)(user + nice + system) / tick, (double)steal / tick};
}

static struct child start(char **command)
{
    struct child c = {.pid = fork()};

    if (c.pid == 0) {
        setpgid(0, 0);
        personality(ADDR_NO_RANDOMIZE);
        execvp(command[0], command);
        fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    if (c.pid < 0) {
        perror("measure: fork");
        exit(2);
    }
    setpgid(c.pid, c.pid);
    c.fd = (int)syscall(SYS_pidfd_open, c.pid, 0);
    return c;
}

static int threads_of(pid_t pid)
{
    char name[64], text[4096];
    int fd, threads = 0;

    snprintf(name, sizeof(name), "/proc/%d/status", pid);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nThreads:");
    if (line)
        threads = atoi(line + 9);
    return threads;
}

// Until one of the two has ended, or the time is over; counts threads of the first meanwhile.
static void await(struct child *which, const struct child *program, double until, int *threads)
{
    while (!which->ended && now() < until) {
        struct pollfd p = {which->fd, POLLIN, 0};
        poll(&p, 1, 20);
        if (wait4(which->pid, &which->status, WNOHANG, &which->used) == which->pid)
            which->ended = true;
        const int n = program->ended ? 0 : threads_of(program->pid);
        if (n > *threads)
            *threads = n;
    }
}

static void finish(struct child *c)
{
    if (c->ended)
        return;
    kill(-c->pid, SIGKILL);
    wait4(c->pid, &c->status, 0, &c->used);
    c->ended = true;
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct rusage self;
    struct child load = {0};
    bool late = false;
    int threads = 0, split = 3;

    while (split < argc && strcmp(argv[split], "--load") != 0)
        split++;
    if (argc < 4 || split == 3 || split == argc - 1) {
        fprintf(stderr, "usage: measure TIMEOUT RESULT COMMAND... [--load COMMAND...]\n");
        return 2;
    }
    const bool server = split < argc;
    argv[split] = NULL;
    const struct machine before = machine();
    const double begin = now(), until = begin + atof(argv[1]);
    struct child program = start(argv + 3);
    if (server) {
        load = start(argv + split + 1);
        await(&load, &program, until, &threads);
        late = !load.ended;
        finish(&load);
        kill(program.pid, SIGTERM);
        await(&program, &program, now() + 30, &threads);
    } else {
        await(&program, &program, until, &threads);
    }
    late = late || !program.ended;
    finish(&program);
    const double wall = now() - begin;
    const struct machine after = machine();
    getrusage(RUSAGE_SELF, &self);
    const double ours = cpu(&program.used) + cpu(&load.used) + cpu(&self);
    const double other = after.busy - before.busy - ours;

    FILE *out = fopen(argv[2], "w");
    if (!out) {
        perror(argv[2]);
        return 2;
    }
    fprintf(out,
            "{\"status\": %d, \"load_status\": %d, \"late\": %s, \"cpu\": %.4f, \"user\": %.4f, \"system\": "
            "%.4f, \"wall\": %.4f, "
            "\"peak_kib\": %ld, \"threads\": %d, \"involuntary\": %ld, \"load_cpu\": %.4f, \"other\": %.3f, "
            "\"steal\": %.3f}\n",
            status_of(program.status), server ? status_of(load.status) : 0, late ? "true" : "false",
            cpu(&program.used), seconds(program.used.ru_utime), seconds(program.used.ru_stime), wall,
            program.used.ru_maxrss, threads, program.used.ru_nivcsw, cpu(&load.used), other > 0 ? other : 0,
            after.steal - before.steal);
    return fclose(out) != 0;
}
