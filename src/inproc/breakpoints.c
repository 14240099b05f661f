// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data breakpoints of the kernel, opened once and moved by an ioctl.
//
// Threads       `inherit_thread` gives them to all threads made since, by clones of the events, and not to
//               children of fork. One ioctl moves or disables a breakpoint in all threads, and has done so
//               when it returns.
// Descriptors   far from those that the program gets. The program can close them nevertheless; then a set or
//               clear fails and says so.
// Clearing      takes no lock: the trap may have interrupted its holder, and would come again and again.
#include "inproc/breakpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/ticks.h"

#define MINE      0x7261696c62697200u // sig_data, plus the number
#define PERF_TRAP 6                   // si_code TRAP_PERF
#define HARD_TRAP 4                   // si_code TRAP_HWBKPT
#define INT1      0xf1u

// The kernel's layout; libc's siginfo_t may be older.
struct trap_info {
    int number, error, code, pad;
    uintptr_t address;
    uint64_t data;
    uint32_t type, flags; // bit 0 of flags: the signal was blocked, so it came late
};

struct rb_breakpoints rb_breakpoints;

static pid_t process; // that opened them
static bool ever;     // they were open; one may be hit while they are closed
static uint64_t heard, seen_heard, seen_hits;
static volatile bool probing;
static volatile uint64_t probe __attribute__((aligned(8)));

// ---- one of them ---------------------------------------------------------------------------------------

unsigned rb_breakpoint_piece(uintptr_t address, uint64_t size)
{
    unsigned bytes = 8;

    while (bytes > size || address % bytes)
        bytes /= 2;
    return bytes;
}

int rb_breakpoint_value(uintptr_t address, uint64_t bytes, uint64_t *value)
{
    const struct iovec from = {(void *)address, bytes < 8 ? bytes : 8}, to = {value, sizeof(*value)};
    const int saved = errno;

    *value = 0;
    const long got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1L, &from, 1L, 0L);
    const int error = got >= 0 ? 0 : errno;
    errno = saved;
    return got == (long)from.iov_len ? 0 : error ? error : EFAULT;
}

bool rb_breakpoint_set(unsigned number, uintptr_t address, unsigned bytes, bool writes_only)
{
    struct rb_breakpoint *b = &rb_breakpoints.at[number];

    b->attr.bp_addr = address;
    b->attr.bp_len = bytes;
    b->attr.bp_type = writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
    b->attr.disabled = 0;
    rb_store_relaxed(&b->set, true);
    return syscall(SYS_ioctl, b->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &b->attr) == 0;
}

bool rb_breakpoint_clear(unsigned number)
{
    struct rb_breakpoint *b = &rb_breakpoints.at[number];

    rb_store_relaxed(&b->set, false);
    return syscall(SYS_ioctl, b->fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
}

void rb_breakpoints_clear_all(void)
{
    for (uint32_t i = 0; i < rb_breakpoints.count && rb_breakpoints_are_ours(); i++)
        if (rb_breakpoint_is_set(i))
            rb_breakpoint_clear(i);
}

// Returns true for a debug exception without its cause, as virtual machines deliver them. The cause may be
// a breakpoint that has been moved since: then the kernel sends the code that a debugger would get. It may
// be missing: then the kernel sends the code of the instruction int1. A program may use int1 itself: the
// trap comes after it, on some processors before it.
static bool is_without_cause(const struct trap_info *trap, const ucontext_t *context)
{
    const uint8_t *pc = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];

    return ever && (trap->code == HARD_TRAP || (trap->code == TRAP_BRKPT && pc[-1] != INT1 && pc[0] != INT1));
}

struct rb_breakpoint_hit rb_breakpoint_hit(const siginfo_t *info, const ucontext_t *context)
{
    const struct trap_info *trap = (const void *)info;

    if (is_without_cause(trap, context))
        return (struct rb_breakpoint_hit){.number = RB_BREAKPOINT_LOST};
    if (trap->code != PERF_TRAP || trap->type != PERF_TYPE_BREAKPOINT || trap->data - MINE >= RB_BREAKPOINTS)
        return (struct rb_breakpoint_hit){.number = RB_BREAKPOINT_NONE};
    if (probing) {
        probing = false;
        return (struct rb_breakpoint_hit){.number = RB_BREAKPOINT_LOST};
    }
    rb_fetch_add_relaxed(&heard, 1);
    return (struct rb_breakpoint_hit){(unsigned)(trap->data - MINE), trap->address, trap->flags & 1};
}

// ---- opening -------------------------------------------------------------------------------------------

// Moves a descriptor far from those that the program gets: just below its limit. The descriptor is read
// from, so it must not become another file's if the program closes it.
static int move_far_away(int fd)
{
    struct rlimit limit;

    if (fd < 0)
        return fd;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        limit.rlim_cur = 0;
    const long top = limit.rlim_cur > 65536 ? 65536 : (long)limit.rlim_cur;
    for (long from = top - (long)RB_BREAKPOINTS - 1; from > 16; from /= 2) {
        const long r = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
        if (r >= 0) {
            syscall(SYS_close, fd);
            return (int)r;
        }
    }
    syscall(SYS_close, fd);
    errno = EMFILE;
    return -1;
}

static bool open_one(unsigned number)
{
    struct rb_breakpoint *b = &rb_breakpoints.at[number];

    b->set = false;
    b->attr = (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
                                       .size = sizeof(b->attr),
                                       .sample_period = 1,
                                       .bp_type = HW_BREAKPOINT_RW,
                                       .bp_addr = (uintptr_t)&probe,
                                       .bp_len = HW_BREAKPOINT_LEN_8,
                                       .disabled = 1,
                                       .exclude_kernel = 1,
                                       .exclude_hv = 1,
                                       .inherit = 1,
                                       .inherit_thread = 1,
                                       .remove_on_exec = 1,
                                       .sigtrap = 1,
                                       .sig_data = MINE + number};
    b->fd = move_far_away((int)syscall(SYS_perf_event_open, &b->attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    return b->fd >= 0;
}

void rb_breakpoints_close(void)
{
    for (uint32_t i = 0; i < rb_breakpoints.count; i++)
        syscall(SYS_close, rb_breakpoints.at[i].fd);
    rb_breakpoints.count = 0;
    heard = seen_heard = seen_hits = 0;
}

bool rb_breakpoints_are_ours(void)
{
    return process == (pid_t)syscall(SYS_getpid);
}

// Returns true from 5.19 on: before, a trap killed the process if it found SIGTRAP blocked.
static bool kernel_is_new(void)
{
    struct utsname u;
    unsigned part[2] = {0, 0}, at = 0;

    if (uname(&u))
        return false;
    for (const char *c = u.release; *c && at < 2; c++) {
        if (*c >= '0' && *c <= '9')
            part[at] = part[at] * 10 + (unsigned)(*c - '0');
        else
            at++;
    }
    return part[0] > 5 || (part[0] == 5 && part[1] >= 19);
}

bool rb_breakpoints_traced(void)
{
    char text[2048];
    const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    const long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof(text) - 1);

    if (fd >= 0)
        syscall(SYS_close, fd);
    for (long i = 0; i + 12 < n; i++)
        if (!__builtin_memcmp(text + i, "TracerPid:\t", 11))
            return text[i + 11] != '0';
    return false;
}

// Returns true if a breakpoint really traps; measures the cost, the least of some.
static bool try_one(void)
{
    uint64_t least = UINT64_MAX;

    if (!rb_breakpoint_set(0, (uintptr_t)&probe, 8, true))
        return false;
    for (unsigned i = 0; i < 4; i++) {
        probing = true;
        const uint64_t start = rb_arch_ticks();
        probe = i;
        const uint64_t ticks = rb_arch_ticks() - start;
        if (probing)
            break;
        least = ticks < least ? ticks : least;
    }
    rb_breakpoints.trap_ticks = least;
    probing = false;
    return rb_breakpoint_clear(0) && least != UINT64_MAX;
}

static const char *open_failure(int error)
{
    return error == EACCES || error == EPERM
               ? "not permitted (kernel.perf_event_paranoid above 2, or a seccomp filter)"
           : error == ENOSPC ? "all of them are in use"
           : error == ENOSYS ? "the kernel has no perf_event_open"
           : error == EINVAL ? "the kernel does not know them in this form"
           : error == EMFILE ? "no descriptor is free"
                             : "the kernel or the virtual machine has none";
}

static const char *open_all(bool (*take_sigtrap)(void))
{
    if (!kernel_is_new())
        return "Linux 5.19 or later is needed";
    if (rb_breakpoints_traced())
        return "a debugger is there";
    while (rb_breakpoints.count < RB_BREAKPOINTS && open_one(rb_breakpoints.count))
        rb_breakpoints.count++;
    if (!rb_breakpoints.count)
        return open_failure(errno);
    if (!take_sigtrap())
        return "SIGTRAP cannot be taken";
    if (!try_one())
        return "they are accepted but never hit, as on some virtual machines";
    return NULL;
}

const char *rb_breakpoints_open(bool (*take_sigtrap)(void))
{
    const int saved = errno;

    process = (pid_t)syscall(SYS_getpid);
    ever = true;
    const char *reason = open_all(take_sigtrap);
    if (reason)
        rb_breakpoints_close();
    errno = saved;
    return reason;
}

int64_t rb_breakpoints_unheard(void)
{
    uint64_t hits = 0, value;

    for (uint32_t i = 0; i < rb_breakpoints.count; i++)
        if (syscall(SYS_read, rb_breakpoints.at[i].fd, &value, sizeof(value)) == sizeof(value))
            hits += value;
    const uint64_t known = rb_load_relaxed(&heard);
    const uint64_t missed = hits - seen_hits - (known - seen_heard);
    seen_hits = hits;
    seen_heard = known;
    return (int64_t)missed;
}
