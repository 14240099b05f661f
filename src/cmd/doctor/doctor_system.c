// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of the kernel and libc of this machine.
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/argument_list.h"
#include "cmd/doctor/doctor.h"

// Returns the number in a file of /proc; `missing` if there is none.
static long read_setting(const char *path, long missing)
{
    char *text = cli_read_file(path, NULL);
    const long value = text && *text ? strtol(text, NULL, 10) : missing;

    free(text);
    return value;
}

// Runs `try` in a child, because it may crash or be killed. Returns its exit status, or -1.
static int run_in_child(int (*try)(void))
{
    int status;

    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        _exit(try());
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_machine(struct finding *f)
{
    struct utsname u;

    if (uname(&u) < 0 || strcmp(u.sysname, "Linux") || strcmp(u.machine, "x86_64")) {
        finding_set(f, FINDING_FAIL, "%s on %s", u.sysname, u.machine);
        finding_change(f, "the runtime is for Linux on x86-64");
        return;
    }
    finding_set(f, FINDING_OK, "Linux %s on x86-64", u.release);
}

void check_libc(struct finding *f)
{
    finding_set(f, FINDING_OK, "glibc %s", gnu_get_libc_version());
}

// ---- breakpoints ---------------------------------------------------------------------------------------

static volatile int watched;

enum {
    WATCH_SIGTRAP,
    WATCH_COUNTS,
    WATCH_COUNTS_NOTHING,
    WATCH_UNHEARD,
    WATCH_ERRNO
}; // WATCH_ERRNO + the errno

static volatile sig_atomic_t trapped;

static void on_trap(int number)
{
    (void)number;
    trapped = 1;
}

static int open_breakpoint(bool sigtrap)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof(attr),
        .bp_type = HW_BREAKPOINT_RW,
        .bp_addr = (uintptr_t)&watched,
        .bp_len = HW_BREAKPOINT_LEN_4,
        .sample_period = sigtrap ? 1 : 0,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

#ifdef PERF_SAMPLE_WEIGHT_TYPE // headers with sigtrap (Linux 5.13) have this one too
    attr.sigtrap = sigtrap;
    attr.remove_on_exec = sigtrap;
#else
    if (sigtrap) {
        errno = EINVAL;
        return -1;
    }
#endif
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// Tries whether an access is counted, and whether it calls the handler.
static int try_breakpoint(void)
{
    uint64_t count = 0;
    int fd = open_breakpoint(false);

    if (fd < 0)
        return WATCH_ERRNO + (errno < 200 ? errno : 200);
    watched++;
    const bool counted = read(fd, &count, sizeof(count)) == sizeof(count) && count > 0;
    close(fd);
    if (!counted)
        return WATCH_COUNTS_NOTHING;
    struct sigaction action = {.sa_handler = on_trap};
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigaction(SIGTRAP, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    fd = open_breakpoint(true);
    if (fd < 0)
        return WATCH_COUNTS;
    watched++;
    close(fd);
    return trapped ? WATCH_SIGTRAP : WATCH_UNHEARD;
}

void check_breakpoints(struct finding *f)
{
    const long paranoid = read_setting("/proc/sys/kernel/perf_event_paranoid", -2);
    const int result = run_in_child(try_breakpoint);

    switch (result) {
    case WATCH_SIGTRAP:
        finding_set(f, FINDING_OK,
                    "hardware breakpoints work: one was hit, and told the thread (perf_event_paranoid %ld)",
                    paranoid);
        break;
    case WATCH_COUNTS:
        finding_set(f, FINDING_WARN, "hardware breakpoints count, but the kernel cannot tell the thread");
        finding_change(f, "'railbird watch' wants Linux 5.13 or later, watch=1 5.19; 'run' works without");
        break;
    case WATCH_COUNTS_NOTHING:
        finding_set(f, FINDING_WARN,
                    "hardware breakpoints are accepted and never hit, as on some virtual machines");
        finding_change(f, "'railbird watch' and watch=1 find nothing here; 'run' works without");
        break;
    case WATCH_UNHEARD:
        finding_set(f, FINDING_WARN, "a hardware breakpoint was hit, and the thread was not told");
        finding_change(f, "'railbird watch' and watch=1 find nothing here; 'run' works without");
        break;
    case -1:
        finding_set(f, FINDING_WARN, "trying a hardware breakpoint crashed");
        finding_change(f, "leave 'railbird watch' and watch=1 alone here; 'run' works without");
        break;
    default:
        finding_set(f, FINDING_WARN,
                    "no hardware breakpoints: perf_event_open says '%s' (perf_event_paranoid %ld)",
                    strerror(result - WATCH_ERRNO), paranoid);
        if (result == WATCH_ERRNO + EACCES || result == WATCH_ERRNO + EPERM)
            finding_change(
                f, "for 'railbird watch' and watch=1: sysctl kernel.perf_event_paranoid=2, and in a "
                   "container a seccomp profile that lets perf_event_open through; 'run' works without");
        else
            finding_change(
                f, "'railbird watch' and watch=1 do not work on this kernel or virtual machine; 'run' "
                   "works without");
    }
}

void check_ptrace(struct finding *f)
{
    static const char *const meaning[] = {"any process of the same user", "children only",
                                          "administrators only", "nobody"};
    const long scope = read_setting("/proc/sys/kernel/yama/ptrace_scope", 0);

    finding_set(f, FINDING_OK, "ptrace_scope %ld: %s may be traced; railbird does not need it, debuggers do",
                scope, scope >= 0 && scope < (long)RB_LENGTH(meaning) ? meaning[scope] : "?");
}

// ---- text pages ----------------------------------------------------------------------------------------

// On a page of its own, so that no other code loses its rights meanwhile.
__attribute__((noinline, aligned(4096))) static int on_a_page(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

// Tries the patch that a dormant call site needs: writes one byte of code and runs the code afterwards.
static int try_text_page(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *code = (unsigned char *)(uintptr_t)on_a_page;
    unsigned char *start = (unsigned char *)((uintptr_t)code & ~(page - 1));

    if (mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return 1;
    *(volatile unsigned char *)code = *code;
    if (mprotect(start, page, PROT_READ | PROT_EXEC) < 0)
        return 2;
    return on_a_page(1) == 2 ? 0 : 3;
}

void check_text_pages(struct finding *f)
{
    if (run_in_child(try_text_page) == 0) {
        finding_set(f, FINDING_OK,
                    "code can be changed in place: sites that are not sampled cost next to nothing");
        return;
    }
    finding_set(f, FINDING_WARN,
                "code cannot be changed in place: sites that are not sampled stay in and cost more");
    finding_change(f, "a security module forbids it (SELinux: execmod); everything else works");
}

// ---- the rest ------------------------------------------------------------------------------------------

void check_aslr(struct finding *f)
{
    finding_set(f, FINDING_OK, "randomize_va_space %ld, mmap_rnd_bits %ld: any setting works",
                read_setting("/proc/sys/kernel/randomize_va_space", -1),
                read_setting("/proc/sys/vm/mmap_rnd_bits", -1));
}

static const char *describe_limit(int which)
{
    struct rlimit l;

    if (getrlimit(which, &l) < 0)
        return "?";
    return l.rlim_cur == RLIM_INFINITY ? "unlimited"
                                       : cli_text("%llu kB", (unsigned long long)l.rlim_cur / 1024);
}

void check_limits(struct finding *f)
{
    const uint64_t wanted = 256u << 20; // the default memory=64M, stacks, and the program itself
    struct rlimit l;
    const bool tight = getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur < wanted;

    finding_set(f, tight ? FINDING_WARN : FINDING_OK, "address space %s, stack %s, core %s",
                describe_limit(RLIMIT_AS), describe_limit(RLIMIT_STACK), describe_limit(RLIMIT_CORE));
    if (tight)
        finding_change(f, "raise 'ulimit -v' to 256 MB or more, or give the runtime less: -o memory=16M");
}

static int try_gomp(void)
{
    return dlopen("libgomp.so.1", RTLD_NOW) ? 0 : 1;
}

static int try_omp(void)
{
    return dlopen("libomp.so.5", RTLD_NOW) || dlopen("libomp.so", RTLD_NOW) ? 0 : 1;
}

void check_openmp(struct finding *f)
{
    const bool gomp = run_in_child(try_gomp) == 0, omp = run_in_child(try_omp) == 0;

    finding_set(f, FINDING_OK, "libgomp (gcc's) is %s, libomp (clang's) is %s", gomp ? "there" : "not there",
                omp ? "there" : "not there");
}
