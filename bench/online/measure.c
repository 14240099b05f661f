// measure TIMEOUT TURN_MS DIR COMMAND… [--load COMMAND…] [--next DIR COMMAND… [--load COMMAND…]]…: runs
// programs in turns and writes what each used to DIR/result, as one JSON object. With --load, the first is a
// server: the second is its load, and when that has ended the server is asked to (SIGTERM).
//
// A machine that others share changes its speed from one second to the next, so two runs one after the other
// had two machines. Here all are started at once, stopped, and one at a time is let go on for TURN_MS, then
// stopped again: they share what the machine does meanwhile. A stopped program uses no CPU time. The last one
// left is not stopped any more. What is stopped and let go on is a process group: a job's program, its load
// and their children, as long as those stay in it. A job has DIR as its folder, DIR/out and DIR/err as its
// output and nothing to read. TIMEOUT is in seconds of a job's own turns, and so is `wall`.
//
// A small program of its own, because a child's peak memory as the kernel counts it begins with what the
// process had that started it. CPU time is of the program and all it waited for; the load's is told apart.
// What the rest of the machine did meanwhile (`other`, `steal`: seconds on all processors, in `group_wall`
// seconds; the same for all jobs) comes with it, so that the caller can tell a run that was disturbed.
// Address space is laid out the same way each time where the system allows it.
//
// Nothing is left behind: a signal that ends us ends the jobs first, and jobs die with us whatever happens.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST   64
#define LOOK   0.02  // seconds between two looks at how many threads there are
#define TO_END 30.0  // seconds that a server has when it was asked to end
#define GRACE  0.005 // seconds that stopping may take

struct child {
    pid_t pid; // 0: there is none
    int status;
    bool ended, stopped;
    struct rusage used;
};

struct job {
    const char *folder;
    char **command, **load_command;
    struct child program, load; // one process group, named by the program
    double ran, limit;          // seconds of its own turns: so far, at most
    bool asked, late;           // asked to end; had to be ended
    int threads;
};

struct machine {
    double busy, steal;
};

static struct job jobs[MOST];
static int count;
static sigset_t ours, before; // signals that are taken in nap(), and the mask that programs get

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

// Children have asked for SIGKILL when we end.
_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
    exit(2);
}

// Interrupts are left out: they are the network's, and ours as much as anybody's.
static struct machine machine(void)
{
    unsigned long long user, nice, system, idle, wait, irq, soft, steal = 0;
    const double tick = (double)sysconf(_SC_CLK_TCK);
    FILE *f = fopen("/proc/stat", "r");

    if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait,
                     &irq, &soft, &steal) < 8)
        fail("/proc/stat");
    fclose(f);
    return (struct machine){(double)(user + nice + system) / tick, (double)steal / tick};
}

// ---- processes -----------------------------------------------------------------------------------------

static bool runs(const struct child *c)
{
    return c->pid && !c->ended;
}

static bool job_runs(const struct job *j)
{
    return runs(&j->program) || runs(&j->load);
}

// To all of a job's processes. Its number may be used after the program was waited for: numbers are given out
// in turn, so it is nobody else's for long.
static void send(const struct job *j, int signal_number)
{
    if (j->program.pid)
        kill(-j->program.pid, signal_number);
}

static void look(struct child *c, int how)
{
    int status;

    if (!runs(c) || wait4(c->pid, &status, how, &c->used) != c->pid)
        return;
    c->stopped = WIFSTOPPED(status);
    c->ended = !c->stopped;
    c->status = status;
}

static void end(struct job *j)
{
    send(j, SIGKILL);
    look(&j->program, 0);
    look(&j->load, 0);
}

// Until a child has changed, or the time is over.
static void nap(double most)
{
    const struct timespec t = {(time_t)most, (long)((most - (double)(time_t)most) * 1e9)};
    const int got = most > 0 ? sigtimedwait(&ours, NULL, &t) : -1;

    if (got < 0 || got == SIGCHLD)
        return;
    for (int i = 0; i < count; i++)
        end(&jobs[i]);
    exit(128 + got);
}

static int opened(const struct job *j, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", j->folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        fail(path);
    return fd;
}

// It waits, stopped, for its first turn. `group`: 0 for one of its own.
static void start(struct child *c, char **command, const char *folder, const int fds[3], pid_t group)
{
    const pid_t parent = getpid();

    c->pid = fork();
    if (c->pid < 0)
        fail("fork");
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        setpgid(0, group);
        for (int i = 0; i < 3; i++)
            dup2(fds[i], i);
        sigprocmask(SIG_SETMASK, &before, NULL);
        personality(ADDR_NO_RANDOMIZE);
        if (chdir(folder) == 0) {
            raise(SIGSTOP);
            execvp(command[0], command);
        }
        fprintf(stderr, "measure: %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    setpgid(c->pid, group ? group : c->pid);
    look(c, WUNTRACED);
}

static void start_job(struct job *j)
{
    const int fds[3] = {open("/dev/null", O_RDONLY | O_CLOEXEC), opened(j, "out"), opened(j, "err")};

    start(&j->program, j->command, j->folder, fds, 0);
    if (j->load_command)
        start(&j->load, j->load_command, j->folder, fds, j->program.pid);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

// ---- turns ---------------------------------------------------------------------------------------------

static void count_threads(struct job *j)
{
    char name[64], text[4096];

    if (!runs(&j->program))
        return;
    snprintf(name, sizeof(name), "/proc/%d/status", j->program.pid);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    const ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nThreads:");
    const int threads = line ? atoi(line + 9) : 0;
    if (threads > j->threads)
        j->threads = threads;
}

static void follow(struct job *j)
{
    look(&j->program, WNOHANG | WUNTRACED);
    look(&j->load, WNOHANG | WUNTRACED);
    if (j->load.ended && !j->asked) {
        j->asked = true;
        j->limit = j->ran + TO_END;
        if (runs(&j->program))
            kill(j->program.pid, SIGTERM);
    }
    if (j->program.ended && runs(&j->load)) // nobody will answer it
        kill(j->load.pid, SIGKILL);
}

// The next turn begins when it has stopped, or soon: a process in vfork only stops after its child, which is
// stopped as well.
static void stop(struct job *j)
{
    const double until = now() + GRACE;

    send(j, SIGSTOP);
    for (follow(j); now() < until; follow(j)) {
        if ((!runs(&j->program) || j->program.stopped) && (!runs(&j->load) || j->load.stopped))
            return;
        nap(until - now());
    }
}

static void turn(struct job *j, double length)
{
    const double begin = now() - j->ran, until = j->ran + length;

    j->program.stopped = j->load.stopped = false;
    send(j, SIGCONT);
    while (job_runs(j) && j->ran < until && j->ran < j->limit) {
        nap(until - j->ran < LOOK ? until - j->ran : LOOK);
        j->ran = now() - begin;
        count_threads(j);
        follow(j);
    }
    j->late = job_runs(j) && j->ran >= j->limit;
    if (job_runs(j) && !j->late)
        stop(j);
    if (!job_runs(j) || j->late)
        end(j); // what it has left behind as well
    j->ran = now() - begin;
}

static int left(void)
{
    int n = 0;

    for (int i = 0; i < count; i++)
        n += job_runs(&jobs[i]);
    return n;
}

// Who comes after whom is drawn anew each time: after its like a program finds more of its code in the
// caches.
static void shuffle(int *order)
{
    for (int i = count - 1; i > 0; i--) {
        const int k = rand() % (i + 1), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}

static void take_turns(double length)
{
    int order[MOST];

    for (int i = 0; i < count; i++)
        order[i] = i;
    for (; left() > 0; shuffle(order))
        for (int i = 0; i < count; i++)
            if (job_runs(&jobs[order[i]]))
                turn(&jobs[order[i]], left() > 1 ? length : INFINITY);
}

// ---- what is asked and told ----------------------------------------------------------------------------

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void tell(const struct job *j, struct machine rest, double group_wall)
{
    const struct rusage *used = &j->program.used;
    FILE *out = fdopen(opened(j, "result"), "w");

    fprintf(out,
            "{\"status\": %d, \"load_status\": %d, \"late\": %s, \"cpu\": %.4f, \"user\": %.4f, "
            "\"system\": %.4f, \"wall\": %.4f, \"peak_kib\": %ld, \"threads\": %d, \"involuntary\": %ld, "
            "\"load_cpu\": %.4f, \"other\": %.3f, \"steal\": %.3f, \"group_wall\": %.4f}\n",
            status_of(j->program.status), j->load.pid ? status_of(j->load.status) : 0,
            j->late ? "true" : "false", cpu(used), seconds(used->ru_utime), seconds(used->ru_stime), j->ran,
            used->ru_maxrss, j->threads, used->ru_nivcsw, cpu(&j->load.used), rest.busy, rest.steal,
            group_wall);
    if (fclose(out) != 0)
        fail(j->folder);
}

// Words up to the next of ours, which becomes the end of the list; *at is then behind it. False: there are
// none.
static bool words(char **argv, int *at, char ***list, const char **next)
{
    *list = argv + *at;
    while (argv[*at] && strcmp(argv[*at], "--load") != 0 && strcmp(argv[*at], "--next") != 0)
        ++*at;
    *next = argv[*at] ? argv[*at] : "";
    if (argv[*at])
        argv[(*at)++] = NULL;
    return **list != NULL;
}

static bool parse(char **argv, double timeout)
{
    const char *next = "--next";

    for (int at = 3; strcmp(next, "--next") == 0; count++) {
        struct job *j = &jobs[count];
        if (count == MOST || !argv[at])
            return false;
        j->folder = argv[at++];
        j->limit = timeout;
        if (!words(argv, &at, &j->command, &next))
            return false;
        if (strcmp(next, "--load") == 0 && !words(argv, &at, &j->load_command, &next))
            return false;
    }
    return *next == '\0';
}

int main(int argc, char **argv)
{
    const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    struct rusage self;

    if (argc < 5 || atof(argv[1]) <= 0 || atof(argv[2]) <= 0 || !parse(argv, atof(argv[1]))) {
        fprintf(stderr, "usage: measure TIMEOUT TURN_MS DIR COMMAND... [--load COMMAND...]\n"
                        "               [--next DIR COMMAND... [--load COMMAND...]]...\n");
        return 2;
    }
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        sigaddset(&ours, taken[i]);
    sigprocmask(SIG_BLOCK, &ours, &before);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // nobody would read what we find
    for (int i = 0; i < count; i++)
        start_job(&jobs[i]);
    const struct machine at_first = machine();
    const double begin = now();
    take_turns(atof(argv[2]) / 1e3);
    const double wall = now() - begin;
    const struct machine at_last = machine();
    getrusage(RUSAGE_SELF, &self);
    struct machine rest = {at_last.busy - at_first.busy - cpu(&self), at_last.steal - at_first.steal};
    for (int i = 0; i < count; i++)
        rest.busy -= cpu(&jobs[i].program.used) + cpu(&jobs[i].load.used);
    if (rest.busy < 0)
        rest.busy = 0;
    for (int i = 0; i < count; i++)
        tell(&jobs[i], rest, wall);
    return 0;
}
