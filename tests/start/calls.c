// Prints the system calls by which a program and its children name files or start programs, a line each, in
// their order. usage: calls UID PROGRAM; the program is started as that user with our environment.
//
// ptrace(2) shows them. A tracer that is root leaves a set-user-ID program its rights.
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_call(pid_t pid, const char *name, unsigned long long text)
{
    char path[4096] = "";
    struct iovec to = {path, sizeof(path) - 1}, from = {(void *)text, sizeof(path) - 1};

    from.iov_len = 4096 - text % 4096; // as far as the page goes, then the next one
    ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got > 0 && got < (ssize_t)to.iov_len) {
        to = (struct iovec){path + got, to.iov_len - (size_t)got};
        from = (struct iovec){(char *)from.iov_base + got, to.iov_len};
        process_vm_readv(pid, &to, 1, &from, 1, 0);
    }
    printf("%s %s\n", name, path);
}

static void look_at(pid_t pid)
{
    struct user_regs_struct r;

    if (ptrace(PTRACE_GETREGS, pid, 0, &r) < 0)
        return;
    switch (r.orig_rax) {
#define AT_PATH(call, argument)             \
    case SYS_##call:                        \
        print_call(pid, #call, r.argument); \
        break;
        AT_PATH(open, rdi)
        AT_PATH(openat, rsi)
        AT_PATH(openat2, rsi)
        AT_PATH(creat, rdi)
        AT_PATH(execve, rdi)
        AT_PATH(execveat, rsi)
        AT_PATH(access, rdi)
        AT_PATH(faccessat, rsi)
        AT_PATH(readlink, rdi)
        AT_PATH(stat, rdi)
        AT_PATH(newfstatat, rsi)
        AT_PATH(mkdir, rdi)
        AT_PATH(unlink, rdi)
        AT_PATH(rename, rdi)
        AT_PATH(memfd_create, rdi)
    case SYS_connect:
    case SYS_fork:
    case SYS_vfork:
        printf("call %llu\n", r.orig_rax);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    static char in_call[1 << 22];
    int status;
    const pid_t child = fork();

    if (argc < 3)
        return 2;
    if (child == 0) {
        const uid_t user = (uid_t)atoi(argv[1]);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        if (setresgid(user, user, user) || setresuid(user, user, user))
            _exit(127);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
               PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        long signal = 0;
        if (!WIFSTOPPED(status))
            continue;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            in_call[pid] ^= 1;
            if (in_call[pid])
                look_at(pid);
        } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
            signal = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, pid, 0, signal);
    }
    return 0;
}
