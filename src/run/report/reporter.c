// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reporter: a process beside the program that puts names to races and delivers them, so that a thread
// that found one goes on. docs/reference/reports.md, "How a report is delivered".
//
// Three processes: the program, a middle process and the tool (`railbird report --live --ring`).
//   - They share a ring of records (base/report_ring.h). The tool alone reads it, and holds nothing else of
//     the program but its descriptor for text.
//   - The middle process exists because exec gives a child its exit signal back. It is an orphan
//     (run/core/orphan.h), has none of the program's descriptors, waits until the tool is at work, and ends. If
//     it is a child of the program it waits for the tool's end.
//   - The tool ends when the program has ended, or some seconds after the last record. It is started again
//     when needed.
//
// Invariant: a record that rb_reporter_give took is in the ring until the tool has delivered and counted
// it. Where the tool ends without that, the program prints it itself, as plain text.
#include "run/report/race.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/report_ring.h"
#include "inproc/tool.h"
#include "inproc/traps.h"
#include "run/core/arch.h"
#include "run/core/orphan.h"
#include "run/core/upcalls.h"

#define RING_BYTES    ((size_t)2 << 20)
#define STACK_BYTES   32768u
#define MOST_WORDS    24u
#define LAST_FD       3 // the last descriptor that the tool gets
#define PAUSE_MS      50u
#define PATIENCE_MS   30000u              // without a record delivered
#define SOON_MS       2000u               // for the end of a process that has nothing left to do
#define PATIENCE_SPIN ((uint64_t)3 << 34) // the same in ticks, where no system call is allowed
#define MOST_FAILURES 3u                  // of the tool in a row; afterwards all reports are plain

#if !defined(SYS_pidfd_open)
#define SYS_pidfd_open 434
#endif

enum launch_state { LAUNCH_BEGUN, LAUNCH_DONE, LAUNCH_REFUSED };

// Passed to the processes, with their stacks; kept until none of them uses it any more.
struct launch {
    const char *path;
    const char *words[MOST_WORDS];
    char *environment[RB_TOOL_ENVIRONMENT];
    int report_fd;
    bool keeps_output; // the tool writes to the program's standard output
    struct rb_ring *old, *ring;
    uint32_t state; // a futex
    volatile int tool;
    char log[4200], pid[16], most[24];
    struct rb_orphan middle;
    char tool_stack[STACK_BYTES] __attribute__((aligned(16)));
};

static struct {
    struct rb_ring *ring;
    struct launch *launch;
    long child;    // the middle process if it is our child, else 0
    long uid, gid; // the rights of the tool
    unsigned failures;
    uint64_t plain; // printed by the program itself
} reporter;

uint32_t rb_reporter_left;

// ---- in the other processes ----------------------------------------------------------------------------
// The middle process and the tool until it execs share the program's memory and a thread's errno: they make
// system calls alone, and none that can fail once the program's thread goes on.

// Moves a descriptor above those that the tool has. Returns -1 if there is none.
static int move_descriptor(long fd)
{
    if (fd < 0 || fd > LAST_FD)
        return (int)fd;
    const long above = syscall(SYS_fcntl, fd, F_DUPFD, LAST_FD + 1);
    syscall(SYS_close, fd);
    return (int)above;
}

// Maps a ring in memory of a file that only `*fd` holds.
static struct rb_ring *map_ring(int *fd)
{
    *fd = move_descriptor(syscall(SYS_memfd_create, "railbird-reports", 0));
    if (*fd < 0 || syscall(SYS_ftruncate, *fd, RING_BYTES))
        return NULL;
    const long map = syscall(SYS_mmap, NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (long)*fd, 0L);
    return (uintptr_t)map > (uintptr_t)-4096 ? NULL : (struct rb_ring *)map;
}

// Gives the tool its descriptors: 0 the ring, 1 its output, 2 the text, 3 the program.
static bool arrange_descriptors(struct launch *l)
{
    int ring;

    if (l->report_fd != 2 && syscall(SYS_dup3, l->report_fd, 2, 0) < 0)
        return false;
    rb_close_from(LAST_FD);
    l->ring = map_ring(&ring);
    int nothing = move_descriptor(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0));
    if (nothing < 0) // a descriptor that takes no text
        nothing = move_descriptor(syscall(SYS_epoll_create1, 0));
    const int program = move_descriptor(syscall(SYS_pidfd_open, rb_process.pid, 0));
    if (!l->ring || nothing < 0)
        return false;
    if (syscall(SYS_fcntl, 2, F_GETFD) < 0 && syscall(SYS_dup3, nothing, 2, 0) < 0)
        return false;
    if ((!l->keeps_output || syscall(SYS_fcntl, 1, F_GETFD) < 0) && syscall(SYS_dup3, nothing, 1, 0) < 0)
        return false;
    if (syscall(SYS_dup3, ring, 0, 0) < 0 || (program >= 0 && syscall(SYS_dup3, program, LAST_FD, 0) < 0))
        return false;
    rb_close_from(program < 0 ? LAST_FD : LAST_FD + 1);
    return true;
}

// Raises a limit of the process, of descriptors or of file size: the ring is no file of the program's.
static void raise_limit(int which, struct rlimit *before)
{
    struct rlimit raised;

    if (syscall(SYS_prlimit64, 0, which, NULL, before))
        return;
    raised = (struct rlimit){before->rlim_max, before->rlim_max};
    syscall(SYS_prlimit64, 0, which, &raised, NULL);
}

static int run_tool(void *given)
{
    const struct launch *l = given;

    syscall(SYS_execve, l->path, l->words, l->environment);
    syscall(SYS_exit, 127);
    return 127;
}

static bool make_tool(struct launch *l)
{
    struct rlimit files = {0, 0}, bytes = {0, 0};
    int status;

    raise_limit(RLIMIT_NOFILE, &files);
    raise_limit(RLIMIT_FSIZE, &bytes);
    if (!arrange_descriptors(l))
        return false;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
    syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &bytes, NULL);
    rb_ring_init(l->ring, RING_BYTES, rb_process.pid);
    if (l->old)
        rb_ring_inherit(l->ring, l->old);
    l->tool = clone(run_tool, l->tool_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, l);
    if (l->tool < 0)
        return false;
    // It has become the tool, or has ended.
    return syscall(SYS_wait4, l->tool, &status, WNOHANG, NULL) == 0;
}

// Waits until the tool is at work, or has ended. As a child of the program it waits for the end, so that the
// tool does not become one.
static void await_tool(struct launch *l)
{
    static const struct timespec ms = {0, 1000000}, pause = {0, PAUSE_MS * 1000000};
    int status;

    for (unsigned i = 0; l->middle.is_child || !rb_load_acquire(&l->ring->owner); i++) {
        const bool at_work = rb_load_acquire(&l->ring->owner);
        if (syscall(SYS_wait4, l->tool, &status, at_work ? 0 : WNOHANG, NULL) != 0)
            break;
        if (i == PATIENCE_MS / PAUSE_MS)
            syscall(SYS_kill, l->tool, SIGKILL);
        syscall(SYS_nanosleep, i < 100 ? &ms : &pause, NULL);
    }
}

static int run_middle(void *given)
{
    static const struct rb_kernel_action standard;
    struct launch *l = given;

    syscall(SYS_prctl, PR_SET_NAME, "railbird-report");
    // Its own copy of the handlers. If the program ignores SIGCHLD, the middle process could not wait for
    // its child.
    syscall(SYS_rt_sigaction, SIGCHLD, &standard, NULL, 8);
    const bool made = make_tool(l);
    rb_close_from(0);
    rb_store_release(&l->state, made ? LAUNCH_DONE : LAUNCH_REFUSED);
    syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (made)
        await_tool(l);
    if (l->middle.is_child)
        rb_store_release(&rb_reporter_left, 1);
    syscall(SYS_exit, 0);
    return 0;
}

// ---- start and end -------------------------------------------------------------------------------------

static bool middle_has_ended(void)
{
    return !reporter.launch || !rb_load_acquire(&reporter.launch->middle.living);
}

// Returns true if the tool has ended. If it never was at work, the middle process has waited for it.
static bool is_over(void)
{
    const uint32_t owner = reporter.ring ? rb_load_acquire(&reporter.ring->owner) : 0;

    return owner ? owner & FUTEX_OWNER_DIED : middle_has_ended();
}

static void put_decimal(char *to, size_t room, uint64_t n)
{
    struct rb_text t;

    rb_text_init(&t, to, room - 1);
    rb_put_number(&t, n);
    *t.at = 0;
}

static bool starts_with(const char *text, const char *word)
{
    while (*word && *text == *word)
        text++, word++;
    return !*word;
}

static void make_words(struct launch *l)
{
    unsigned n = 0;

    put_decimal(l->pid, sizeof(l->pid), rb_process.pid);
    put_decimal(l->most, sizeof(l->most), rb_options.max_reports);
    l->words[n++] = l->path;
    l->words[n++] = "report";
    l->words[n++] = "--live";
    l->words[n++] = "--ring";
    l->words[n++] = l->pid;
    l->words[n++] = "--max-reports";
    l->words[n++] = l->most;
    if (rb_options.verbose)
        l->words[n++] = "--verbose";
    if (rb_options.report) {
        l->words[n++] = "--text";
        l->words[n++] = rb_options.log_path[0] ? rb_log_file(l->log, sizeof(l->log)) : "-";
    }
    if (rb_options.report_json[0]) {
        l->words[n++] = "--json-file";
        l->words[n++] = rb_options.report_json;
    }
    if (rb_options.suppressions[0]) {
        l->words[n++] = "--suppressions";
        l->words[n++] = rb_options.suppressions;
    }
    l->words[n] = NULL;
}

static struct launch *make_launch(void)
{
    const char *path = rb_tool_path();
    const long map = path ? syscall(SYS_mmap, NULL, sizeof(struct launch), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L)
                          : -1;

    if ((uintptr_t)map > (uintptr_t)-4096)
        return NULL;
    struct launch *l = (struct launch *)map;
    l->path = path;
    l->report_fd = rb_report_fd;
    l->keeps_output = starts_with(rb_options.report_json, "/dev/") ||
                      starts_with(rb_options.report_json, "/proc/") ||
                      starts_with(rb_options.log_path, "/dev/");
    rb_tool_environment(l->environment);
    make_words(l);
    return l;
}

// Frees the memory of the processes. Returns false, after some patience, if they live on.
static bool clear_launch(unsigned patience_ms)
{
    static const struct timespec ms = {0, 1000000};

    while (!middle_has_ended()) {
        if (!patience_ms--)
            return false;
        syscall(SYS_nanosleep, &ms, NULL);
    }
    rb_orphan_reap(reporter.child);
    reporter.child = 0;
    if (reporter.launch)
        syscall(SYS_munmap, reporter.launch, sizeof(struct launch));
    reporter.launch = NULL;
    rb_store_relaxed(&rb_reporter_left, 0);
    return true;
}

void rb_reporter_reap(void)
{
    if (!rb_host.sandboxed && rb_load_acquire(&rb_reporter_left))
        clear_launch(0);
}

// Waits until the middle process reports success or failure. It may be killed instead.
static bool await_launch(struct launch *l)
{
    static const struct timespec pause = {0, PAUSE_MS * 1000000};

    for (unsigned waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
        if (rb_load_acquire(&l->state) != LAUNCH_BEGUN || middle_has_ended())
            break;
        syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, LAUNCH_BEGUN, &pause, NULL, 0);
    }
    return rb_load_acquire(&l->state) == LAUNCH_DONE;
}

static bool launch_middle(struct launch *l)
{
    reporter.uid = syscall(SYS_geteuid);
    reporter.gid = syscall(SYS_getegid);
    l->middle.run = run_middle;
    l->middle.given = l;
    reporter.child = rb_orphan_start(&l->middle);
    return await_launch(l);
}

// Starts a reporter, which goes on with the records that the last one left.
static bool start_reporter(void)
{
    if (rb_host.sandboxed || reporter.failures >= MOST_FAILURES || !clear_launch(SOON_MS))
        return false;
    struct launch *l = reporter.launch = make_launch();
    if (!l)
        return false;
    l->old = reporter.ring;
    const bool made = launch_middle(l);
    struct rb_ring *const ring = l->ring, *const useless = made ? reporter.ring : ring;
    if (useless)
        syscall(SYS_munmap, useless, RING_BYTES);
    if (made) {
        reporter.ring = ring;
    } else {
        reporter.failures = MOST_FAILURES;
        clear_launch(SOON_MS);
    }
    return made;
}

static void wake_tool(void)
{
    if (!rb_host.sandboxed && rb_load_seq_cst(&reporter.ring->sleeping))
        syscall(SYS_futex, &reporter.ring->news, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// ---- waiting -------------------------------------------------------------------------------------------

// Prints the oldest record as it is.
static void print_plain(void)
{
    struct rb_ring_view view;

    if (rb_ring_look(reporter.ring, reporter.ring->bytes, &view) <= 0)
        return;
    rb_tool_keep(view.record, view.record_bytes);
    if (rb_options.report)
        rb_say(view.plain, view.plain_bytes);
    reporter.plain++;
    rb_ring_taken(reporter.ring, &view);
}

// Replaces a tool that has ended, or is to end. The record that it was at is printed as it is, and another
// tool gets the others.
static void replace_tool(bool failed)
{
    if (failed) {
        const bool was_of_use = rb_load_relaxed(&reporter.ring->turns) > 1;
        reporter.failures = was_of_use ? 1 : reporter.failures + 1;
        print_plain();
    }
    if (rb_ring_pending(reporter.ring) && !start_reporter())
        while (rb_ring_pending(reporter.ring))
            print_plain();
}

// Waits for the tool's next step. Returns false if none came for too long, or none will.
static bool await_turn(uint32_t seen, unsigned *waited)
{
    static const struct timespec pause = {0, PAUSE_MS * 1000000};
    struct rb_ring *r = reporter.ring;

    if (rb_host.sandboxed) {
        const uint64_t since = rb_arch_ticks();
        while (rb_load_acquire(&r->turns) == seen && !is_over()) {
            if (rb_arch_ticks() - since > PATIENCE_SPIN)
                return false;
            __builtin_ia32_pause();
        }
        return !is_over();
    }
    rb_store_seq_cst(&r->waiting, 1);
    if (!is_over())
        syscall(SYS_futex, &r->turns, FUTEX_WAIT, seen, &pause, NULL, 0);
    *waited = rb_load_acquire(&r->turns) == seen ? *waited + PAUSE_MS : 0;
    if (is_over())
        return false;
    if (*waited < PATIENCE_MS)
        return true;
    syscall(SYS_kill, reporter.launch->tool, SIGKILL);
    while (!is_over() && *waited < 2 * PATIENCE_MS) {
        syscall(SYS_futex, &r->turns, FUTEX_WAIT, seen, &pause, NULL, 0);
        *waited += PAUSE_MS;
    }
    return false;
}

// Waits until the tool has come this far, or fails.
static void await_position(uint64_t position)
{
    unsigned waited = 0;

    while (reporter.ring) {
        const uint32_t seen = rb_load_seq_cst(&reporter.ring->turns);
        if ((int64_t)(position - rb_load_acquire(&reporter.ring->tail)) <= 0)
            return;
        if (await_turn(seen, &waited))
            continue;
        if (!rb_ring_pending(reporter.ring))
            return;
        replace_tool(rb_load_acquire(&reporter.ring->state) == RB_RING_OPEN);
        position = reporter.ring->head; // of the new ring
        waited = 0;
    }
}

void rb_reporter_wait(void)
{
    if (reporter.ring)
        await_position(reporter.ring->head);
}

// ---- the calls of race.c -------------------------------------------------------------------------------

static bool has_other_rights(void)
{
    return !rb_host.sandboxed &&
           (syscall(SYS_geteuid) != reporter.uid || syscall(SYS_getegid) != reporter.gid);
}

static bool is_ready(void)
{
    if (!reporter.ring || is_over() || rb_load_acquire(&reporter.ring->state) != RB_RING_OPEN)
        return false;
    if (!has_other_rights())
        return true;
    rb_reporter_end(); // a tool started under other rights does not serve this program any more
    return false;
}

// Handles a tool that ended while the ring had records. The process that changes the ring's state decides
// about them.
static void check_tool(void)
{
    uint32_t state = RB_RING_ENDED;

    if (rb_load_seq_cst(&reporter.ring->state) == RB_RING_ENDED &&
        rb_cas_strong_seq_cst(&reporter.ring->state, &state, RB_RING_GONE))
        replace_tool(false);
    else if (is_over())
        replace_tool(true);
}

// Returns true if the most reports allowed are shown: a record without room is only counted.
static bool shows_no_more(void)
{
    const struct rb_ring_counts *c = &reporter.ring->counts;

    return rb_options.max_reports && rb_load_relaxed(&c->shown) >= rb_options.max_reports;
}

bool rb_reporter_give(const char *record, size_t record_bytes, const char *plain, size_t plain_bytes)
{
    if (!is_ready() && !start_reporter())
        return false;
    if (rb_ring_too_long(reporter.ring, record_bytes, plain_bytes))
        return false;
    while (!rb_ring_put(reporter.ring, record, (uint32_t)record_bytes, plain, (uint32_t)plain_bytes)) {
        if (shows_no_more()) {
            rb_fetch_add_relaxed(&reporter.ring->counts.hidden, 1);
            return true;
        }
        if (rb_host.sandboxed)
            return false;
        await_position(reporter.ring->head -
                       reporter.ring->bytes / 2); // in halves, so that records do not wait one by one
        if (!is_ready() && !start_reporter())
            return false;
    }
    wake_tool();
    check_tool();
    return true;
}

bool rb_reporter_is_child(void)
{
    return reporter.child != 0;
}

void rb_reporter_end(void)
{
    static const struct timespec ms = {0, 1000000};
    struct rb_ring *r;
    unsigned waited = 0;

    rb_reporter_wait();
    if (!reporter.ring || is_over())
        return;
    r = reporter.ring;
    rb_store_seq_cst(&r->ending, 1);
    wake_tool();
    for (;;) {
        const uint32_t seen = rb_load_seq_cst(&r->turns);
        if (rb_load_acquire(&r->state) != RB_RING_OPEN || !await_turn(seen, &waited))
            break;
    }
    for (waited = 0; !rb_host.sandboxed && !is_over() && waited < SOON_MS; waited++)
        syscall(SYS_nanosleep, &ms, NULL);
    if (!rb_host.sandboxed)
        clear_launch(SOON_MS);
}

void rb_reporter_stay(void)
{
    if (is_ready() || start_reporter())
        rb_store_seq_cst(&reporter.ring->stays, 1);
    if (reporter.ring)
        check_tool();
}

void rb_reporter_reset_after_fork(void)
{
    if (reporter.ring)
        syscall(SYS_munmap, reporter.ring, RING_BYTES);
    if (reporter.launch)
        syscall(SYS_munmap, reporter.launch, sizeof(struct launch));
    reporter.ring = NULL;
    reporter.launch = NULL;
    reporter.child = 0;
    reporter.failures = 0;
    reporter.plain = 0;
    rb_reporter_left = 0;
}

struct rb_reporter_totals rb_reporter_totals(void)
{
    struct rb_reporter_totals t = {.reported = reporter.plain};

    if (reporter.ring) {
        const struct rb_ring_counts *c = &reporter.ring->counts;
        t.hidden = rb_load_relaxed(&c->hidden);
        t.reported += c->shown + c->places + c->plain + t.hidden;
        t.suppressed = c->suppressed;
        t.partial = c->partial;
    }
    return t;
}
