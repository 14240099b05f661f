#include "rt/ticker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/arch.h"

#define STACK_BYTES ((size_t)64 << 10)
#define LONG_IDLE   1000000000u // after so many nanoseconds without a turn's work it looks if it is alone

static uint64_t (*turn)(void);
static bool begun, stopped;

// A thread that was ended by the kernel's exit, not libc's, leaves the process to us: then it ends.
static void end_if_alone(void)
{
    char stat[512];
    const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);

    if (fd < 0)
        return;
    const long n = syscall(SYS_read, fd, stat, sizeof(stat) - 1);
    syscall(SYS_close, fd);
    const char *at = stat + (n > 0 ? n : 0), *end = at;
    while (at > stat && *at != ')')
        at--;
    unsigned field = 2, threads = 0; // after the name, which may have anything in it
    for (; at < end && field <= 20; at++) {
        if (*at == ' ')
            field++;
        else if (field == 20)
            threads = threads * 10 + (unsigned)(*at - '0');
    }
    if (threads == 1)
        syscall(SYS_exit_group, 0);
}

static void run(void)
{
    uint64_t idle = 0;

    syscall(SYS_prctl, PR_SET_NAME, "railbird");
    while (!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE)) {
        const uint64_t wait = turn();
        const struct timespec pause = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
        idle += wait;
        if (idle >= LONG_IDLE) {
            end_if_alone();
            idle = 0;
        }
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}

// Thread-local variables of libc and of ours are below the thread pointer, in a block of our own that is all zero: errno
// may be written there, and nobody has a state.
static size_t tls_bytes(void)
{
    const uintptr_t pointer = (uintptr_t)__builtin_thread_pointer();
    const size_t of_errno = pointer - (uintptr_t)&errno, of_ours = pointer - (uintptr_t)&rb_self_tls;
    const size_t most = of_errno > of_ours ? of_errno : of_ours;

    return (most + (64u << 10)) & ~(size_t)4095;
}

bool rb_ticker_start(uint64_t (*given)(void))
{
    const size_t below = tls_bytes(), bytes = STACK_BYTES + below + 4096;
    uint64_t all = ~(uint64_t)0, before;

    if (__atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
        return true;
    turn = given;
    const long map =
        syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((uintptr_t)map > (uintptr_t)-4096)
        return false;
    char *stack_top = (char *)map + STACK_BYTES;
    void **pointer = (void **)(stack_top + below);
    pointer[0] = pointer[2] = pointer; // as libc has it: the block's own address
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    const long id = rb_arch_thread(stack_top, pointer, run);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    if (id < 0)
        syscall(SYS_munmap, map, bytes);
    return id >= 0;
}

void rb_ticker_stop(void)
{
    __atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
}

void rb_ticker_reset_after_fork(void)
{
    begun = stopped = false;
}
