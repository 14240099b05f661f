// fail_mmap NTH once|on|count PROGRAM...: runs the program so that its NTH mmap fails with ENOMEM, only that
// one or it and all after it, whoever makes it (loader, libc, the runtime, the program); `count` fails none.
// Prints how many there were, and ends as the program did. The kernel asks us before each (seccomp's user
// notification), so nothing gets around it.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int ask_us(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

static long seen;

// Answers until nobody with the filter is left.
static void answer(int listener, long nth, const char *how)
{
    struct pollfd p = {listener, POLLIN, 0};

    while (poll(&p, 1, -1) >= 0 && !(p.revents & POLLHUP)) {
        struct seccomp_notif ask;
        memset(&ask, 0, sizeof(ask));
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask))
            continue;
        seen++;
        const int fails = !strcmp(how, "once") ? seen == nth : !strcmp(how, "on") ? seen >= nth : 0;
        struct seccomp_notif_resp tell = {.id = ask.id,
                                          .error = fails ? -ENOMEM : 0,
                                          .flags = fails ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &tell);
    }
}

int main(int argc, char **argv)
{
    int numbers[2], ready[2], number = -1, status = 0;

    if (argc < 4 || pipe(numbers) || pipe(ready))
        return 2;
    const pid_t child = fork();
    if (child == 0) {
        char go;
        number = ask_us();
        if (write(numbers[1], &number, sizeof(number)) != sizeof(number) || read(ready[0], &go, 1) != 1 ||
            number < 0)
            _exit(2);
        close(number);
        for (int i = 0; i < 2; i++) {
            close(numbers[i]);
            close(ready[i]);
        }
        execv(argv[3], argv + 3);
        _exit(2);
    }
    if (child < 0 || read(numbers[0], &number, sizeof(number)) != sizeof(number) || number < 0) {
        fprintf(stderr, "fail_mmap: this kernel has no user notification\n");
        return 77;
    }
    const int process = (int)syscall(SYS_pidfd_open, child, 0);
    const int listener = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    if (listener < 0 || write(ready[1], "g", 1) != 1) {
        fprintf(stderr, "fail_mmap: %s\n", strerror(errno));
        kill(child, SIGKILL);
        return 77;
    }
    answer(listener, atol(argv[1]), argv[2]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    printf("mmaps %ld\n", seen);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
