// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reporter of a running program: delivers the records of the ring that both share (base/report_ring.h)
// in their order, and counts the outcome of each there. The program may end, crash or be killed at any
// time; every record in the ring is still delivered.
//
// Descriptors: 0 is the ring, 3 the program's process (a pidfd) if the system has such.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/report_ring.h"
#include "report/live/live.h"

#define PAUSE_MS 50
#define IDLE_MS  3000 // without a record
#define LAST_S   5    // for writing, once the program has ended

struct reporter {
    struct rb_ring *ring;
    uint64_t bytes; // of its data, read once: the program may change the field in the ring
    struct rb_live *live;
    const struct rb_live_options *options;
    struct rb_live_result *result;
};

static pid_t program;
static bool has_pidfd;

static bool program_has_ended(void)
{
    struct pollfd p = {.fd = 3, .events = POLLIN};

    if (has_pidfd)
        return poll(&p, 1, 0) > 0 && p.revents & POLLIN;
    return kill(program, 0) < 0 && errno == ESRCH;
}

// ---- writing -------------------------------------------------------------------------------------------

// Ends the reporter if a write to a pipe still blocks some seconds after the program's end: the pipe has no
// reader then.
static void on_second(int number)
{
    static volatile sig_atomic_t seconds;
    const int saved = errno;

    (void)number;
    seconds = rb_live_is_writing && program_has_ended() ? seconds + 1 : 0;
    if (seconds > LAST_S)
        _exit(1);
    errno = saved;
}

static void limit_last_writes(void)
{
    const struct itimerval every_second = {{1, 0}, {1, 0}};
    struct sigaction action = {.sa_handler = on_second, .sa_flags = SA_RESTART};
    sigset_t alarm;

    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &every_second, NULL);
}

// ---- the ring ------------------------------------------------------------------------------------------

static bool map_ring(struct reporter *r)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) < 0 || st.st_size <= (off_t)sizeof(*r->ring))
        return false;
    r->ring = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    if (r->ring == MAP_FAILED || r->ring->magic != RB_RING_MAGIC)
        return false;
    r->bytes = ((uint64_t)st.st_size - sizeof(*r->ring)) & ~(uint64_t)(RB_RING_ALIGN - 1);
    return r->ring->bytes == r->bytes;
}

// Has the kernel mark the ring when this process ends, for any reason.
static void claim_ring(struct rb_ring *ring)
{
    static struct robust_list entry;
    static struct robust_list_head head;

    entry.next = &head.list;
    head.list.next = &entry;
    head.futex_offset = (char *)&ring->owner - (char *)&entry;
    syscall(SYS_set_robust_list, &head, sizeof(head)); // libc's is not used: there is one thread
    rb_store_release(&ring->owner, (uint32_t)syscall(SYS_gettid));
}

static void wake_program(struct rb_ring *ring)
{
    if (rb_exchange_seq_cst(&ring->waiting, 0))
        syscall(SYS_futex, &ring->turns, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void await_news(struct rb_ring *ring)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000};
    const uint32_t seen = rb_load_seq_cst(&ring->news);

    rb_store_seq_cst(&ring->sleeping, 1);
    if (!rb_ring_pending(ring) && !rb_load_seq_cst(&ring->ending))
        syscall(SYS_futex, &ring->news, FUTEX_WAIT, seen, &pause, NULL, 0);
    rb_store_seq_cst(&ring->sleeping, 0);
}

// Adds one to a counter that the program reads at any time.
static void increment_count(uint64_t *counter)
{
    rb_store_relaxed(counter, *counter + 1);
}

// ---- a record ------------------------------------------------------------------------------------------

static void show_race(struct reporter *r, const struct rb_race *race)
{
    struct rb_ring_counts *counts = &r->ring->counts;
    struct rb_ring_cause *cause = rb_ring_cause(r->ring, strtoull(race->cause, NULL, 16) | 1);
    const bool known = cause && cause->id;

    if (rb_race_is_partial(race->record))
        increment_count(&counts->partial);
    if (!known && r->options->max_reports && counts->shown >= r->options->max_reports) {
        increment_count(&counts->hidden);
        return;
    }
    rb_live_show(r->live, race, !known || r->options->verbose);
    increment_count(known ? &counts->places : &counts->shown);
    if (known)
        cause->places++;
    else if (cause)
        cause->id = strtoull(race->id, NULL, 16);
}

static void take_record(struct reporter *r, const struct rb_ring_view *view)
{
    char *own =
        malloc((size_t)view->record_bytes + view->plain_bytes + 1); // the program may still write there
    struct rb_race race;
    const uint64_t suppressed = r->result->suppressed;

    if (own) {
        rb_ring_copy(own, view->record, view->record_bytes);
        rb_ring_copy(own + view->record_bytes, view->plain, view->plain_bytes);
    }
    if (own && rb_live_read(r->live, own, view->record_bytes, &race)) {
        show_race(r, &race);
        rb_race_free(&race);
    } else if (r->result->suppressed > suppressed) {
        increment_count(&r->ring->counts.suppressed);
    } else {
        if (own) {
            rb_live_keep(r->live, own, view->record_bytes);
            if (r->options->text)
                rb_live_say(r->live, own + view->record_bytes, view->plain_bytes);
        }
        increment_count(&r->ring->counts.plain);
    }
    free(own);
}

// Delivers all records in the ring. Returns true if there was one.
static bool take_all(struct reporter *r)
{
    struct rb_ring_view view;
    bool any = false;
    int found;

    while ((found = rb_ring_look(r->ring, r->bytes, &view)) != 0) {
        any = true;
        if (found > 0) {
            take_record(r, &view);
            rb_ring_taken(r->ring, &view);
        } else {
            fprintf(stderr, "railbird %s: the program has overwritten reports that were not printed yet\n",
                    r->options->name);
        }
        wake_program(r->ring);
    }
    return any;
}

// ---- the end -------------------------------------------------------------------------------------------

// Reports the number of races that were left out since the last such report.
static void say_rest(struct reporter *r)
{
    struct rb_ring *ring = r->ring;
    char line[160];

    if (!r->options->text)
        return;
    for (unsigned i = 0; i < RB_RING_CAUSES; i++) {
        struct rb_ring_cause *c = &ring->causes[i];
        const uint32_t more = c->places - c->said;
        if (!c->id || !more || r->options->verbose)
            continue;
        rb_live_say(r->live, line,
                    (size_t)snprintf(line, sizeof(line),
                                     "Railbird: race %016" PRIx64 ": and %" PRIu32
                                     " more place%s of the same data and functions\n",
                                     c->id, more, more == 1 ? "" : "s"));
        c->said = c->places;
    }
    const uint64_t hidden = rb_load_relaxed(&ring->counts.hidden), more = hidden - ring->counts.hidden_said;
    if (more)
        rb_live_say(r->live, line,
                    (size_t)snprintf(line, sizeof(line),
                                     "Railbird: %" PRIu64
                                     " more race%s found and %s not shown (max_reports=%" PRIu64 ")\n",
                                     more, more == 1 ? " was" : "s were", more == 1 ? "is" : "are",
                                     r->options->max_reports));
    ring->counts.hidden_said = hidden;
}

// Marks the ring as ended. Returns false if a record arrived meanwhile that this reporter still has to
// deliver.
static bool try_end(struct rb_ring *ring)
{
    uint32_t state = RB_RING_ENDED;

    rb_store_seq_cst(&ring->state, RB_RING_ENDED);
    return !rb_ring_pending(ring) || !rb_cas_strong_seq_cst(&ring->state, &state, RB_RING_OPEN);
}

static void deliver_records(struct reporter *r)
{
    struct rb_ring *ring = r->ring;
    unsigned idle = 0;
    bool last = false;

    for (;;) {
        if (take_all(r)) {
            idle = 0;
            continue;
        }
        const bool stays = rb_load_acquire(&ring->stays);
        if (last || (idle >= IDLE_MS && !stays)) {
            say_rest(r);
            if (try_end(ring))
                break;
            last = false;
        }
        // The loop reads the ring once more after this: records from before the end are in it then.
        last = rb_load_seq_cst(&ring->ending) || program_has_ended();
        if (last)
            continue;
        await_news(ring);
        idle += PAUSE_MS;
    }
    rb_fetch_add_seq_cst(&ring->turns, 1);
    rb_store_seq_cst(&ring->waiting, 1);
    wake_program(ring);
}

bool rb_live_run_ring(int pid, const struct rb_live_options *o, struct rb_live_result *result)
{
    struct reporter r = {.options = o, .result = result};

    prctl(PR_SET_NAME, "railbird-report");
    program = pid;
    has_pidfd = fcntl(3, F_GETFD) >= 0;
    *result = (struct rb_live_result){0};
    if (!map_ring(&r))
        return false;
    claim_ring(r.ring);
    r.live = rb_live_open(o, result);
    if (!r.live)
        return true;
    limit_last_writes();
    deliver_records(&r);
    rb_live_close(r.live);
    return true;
}
