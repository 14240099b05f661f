// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ticker's thread: made by the kernel's clone on a block of our own, ended by a futex.
#include "run/core/ticker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "run/core/arch.h"

#define STACK_BYTES ((size_t)64 << 10)
#define LONG_IDLE   1000000000u // nanoseconds without work, after which the thread checks if it is alone
#define FIRST_PAUSE 10000000u   // nanoseconds, so that the thread about to be made finds a core free

static uint64_t (*turn)(void);
static bool begun;
static uint32_t stopped; // a futex: the thread pauses in it
static uint32_t calls;   // of rb_ticker_start

// Ends the process if no other thread is left: threads that end by the kernel's exit, not libc's, leave
// that to us.
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
    unsigned field = 2, threads = 0; // fields are counted after the name, which may contain any character
    for (; at < end && field <= 20; at++) {
        if (*at == ' ')
            field++;
        else if (field == 20)
            threads = threads * 10 + (unsigned)(*at - '0');
    }
    if (threads == 1)
        syscall(SYS_exit_group, 0);
}

// Returns true if the thread may end: nothing has started it again meanwhile. rb_ticker_start writes
// `calls` before it reads `begun`; here the order is reversed.
static bool may_end(uint32_t seen)
{
    rb_store_seq_cst(&begun, false);
    return rb_load_seq_cst(&calls) == seen || rb_exchange_seq_cst(&begun, true);
}

static void pause_ticker(uint64_t ns)
{
    const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    syscall(SYS_futex, &stopped, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
}

static void run_ticker(void)
{
    uint64_t idle = 0;

    syscall(SYS_prctl, PR_SET_NAME, "railbird");
    pause_ticker(FIRST_PAUSE);
    while (!rb_load_acquire(&stopped)) {
        const uint32_t seen = rb_load_seq_cst(&calls);
        const uint64_t wait = turn();
        if (wait == RB_TICKER_END) {
            if (may_end(seen))
                break;
            continue;
        }
        idle += wait;
        if (idle >= LONG_IDLE) {
            end_if_alone();
            idle = 0;
        }
        pause_ticker(wait);
    }
}

// Returns the bytes below the thread pointer. Thread-local variables of libc and of ours lie there, in a
// block of our own that is all zero: errno may be written, and the thread has no rb_self.
static size_t count_tls_bytes(void)
{
    const uintptr_t pointer = (uintptr_t)__builtin_thread_pointer();
    const size_t of_errno = pointer - (uintptr_t)&errno, of_ours = pointer - (uintptr_t)&rb_self_tls;
    const size_t most = of_errno > of_ours ? of_errno : of_ours;

    return (most + (64u << 10)) & ~(size_t)4095;
}

// The block is kept for the next thread; the kernel clears `living` when the last has left it.
static char *block;
static uint32_t living;

static bool make_block(size_t bytes)
{
    if (block)
        return true;
    block = rb_pages_map(bytes);
    return block != NULL;
}

bool rb_ticker_start(uint64_t (*given)(void))
{
    const size_t below = count_tls_bytes();
    uint64_t all = ~(uint64_t)0, before;

    if (rb_host.sandboxed || rb_load_acquire(&stopped))
        return false;
    rb_fetch_add_seq_cst(&calls, 1);
    if (rb_load_seq_cst(&begun) || rb_exchange_seq_cst(&begun, true))
        return true;
    turn = given;
    for (unsigned i = 0; rb_load_acquire(&living) && i < 1000; i++)
        syscall(SYS_sched_yield);
    if (rb_load_acquire(&living) || !make_block(STACK_BYTES + below + 4096)) {
        begun = false;
        return false;
    }
    char *stack_top = block + STACK_BYTES;
    void **pointer = (void **)(stack_top + below);
    pointer[0] = pointer[2] = pointer; // as in libc: the block's own address
    rb_store_release(&living, 1);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    const long id = rb_arch_thread(stack_top, pointer, &living, run_ticker);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
    if (id < 0)
        living = begun = false;
    return id >= 0;
}

void rb_ticker_stop(void)
{
    rb_store_release(&stopped, 1);
}

// Stops the thread and waits for its end. The kernel then writes 0 to `living`, and wakes the waiter there.
void rb_ticker_end(void)
{
    static const struct timespec patience = {5, 0};

    rb_ticker_stop();
    syscall(SYS_futex, &stopped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (rb_load_acquire(&living))
        if (syscall(SYS_futex, &living, FUTEX_WAIT, 1, &patience, NULL, 0) && errno == ETIMEDOUT)
            return;
}

void rb_ticker_reset_after_fork(void)
{
    begun = false;
    stopped = 0;
    living = 0;
}
