// Counts the instructions that a program's first thread executes between its marks, by single-stepping it: exact, whatever
// else the machine does. A mark is a system call that does not exist, number MARK + n: the first begins a count, the next one of
// the same n ends it. For each n met a line "n instructions" on standard output; the program's own output goes to
// standard error. Instructions inside the kernel are not counted.
//
//     steps PROGRAM [ARGUMENT...]
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK  0x5b1d0000
#define KINDS 16

static void fail(const char *what)
{
    fprintf(stderr, "steps: %s: ", what);
    perror(NULL);
    exit(1);
}

// The n of a mark, if that is what the thread stopped at; else -1.
static int mark_of(const struct user_regs_struct *r)
{
    const unsigned long n = r->orig_rax - MARK;

    return n < KINDS ? (int)n : -1;
}

// Lets the thread run to its next system call's entry or exit. False: it is gone. Signals are handed on.
static int go_on(pid_t child, int request, int *status)
{
    static int signal_to_give;

    if (ptrace(request, child, NULL, (void *)(long)signal_to_give) < 0 && errno != ESRCH)
        fail("ptrace");
    signal_to_give = 0;
    if (waitpid(child, status, __WALL) < 0)
        fail("waitpid");
    if (!WIFSTOPPED(*status))
        return 0;
    const int signal = WSTOPSIG(*status);
    if (signal != SIGTRAP && signal != (SIGTRAP | 0x80))
        signal_to_give = signal;
    return 1;
}

// From the exit of one mark to the entry of the next.
static long count_to_mark(pid_t child, int *status)
{
    struct user_regs_struct r;

    for (long n = 0;; n++) {
        if (!go_on(child, PTRACE_SINGLESTEP, status))
            fail("the program ended between two marks");
        if (ptrace(PTRACE_GETREGS, child, NULL, &r) < 0)
            fail("ptrace");
        // A step over a system call instruction has its number in orig_rax, and then only.
        if ((long)r.orig_rax >= 0 && mark_of(&r) >= 0)
            return n;
    }
}

int main(int argc, char **argv)
{
    struct user_regs_struct r;
    int status, entering = 1;

    if (argc < 2) {
        fputs("usage: steps PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    const pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        dup2(2, 1);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[1], argv + 1);
        fail(argv[1]);
    }
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        fail("the program did not start");
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    while (go_on(child, PTRACE_SYSCALL, &status)) {
        if (WSTOPSIG(status) != (SIGTRAP | 0x80))
            continue;
        entering = !entering;
        if (!entering)
            continue;
        if (ptrace(PTRACE_GETREGS, child, NULL, &r) < 0)
            fail("ptrace");
        const int n = mark_of(&r);
        if (n >= 0)
            printf("%d %ld\n", n, count_to_mark(child, &status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
