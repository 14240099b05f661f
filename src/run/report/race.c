// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Races found, and the records made of them (race.h).
#include "run/report/race.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "inproc/modules.h"
#include "inproc/text_buffer.h"
#include "inproc/tool.h"
#include "run/access/access.h"
#include "run/core/footprint.h"
#include "run/core/upcalls.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/heap.h"
#include "run/intercept/lifecycle.h"
#include "run/sync/thread.h"
#include "run/unseen/unseen.h"

#define KNOWN_PAIRS 8192u             // power of two; beyond three quarters of it nothing new is reported
#define TEXT_BYTES  ((size_t)3 << 17) // of a record
#define PLAIN_BYTES ((size_t)1 << 17) // of the same as text
#define FRAMES      64u

struct rb_found {
    struct rb_found *next;
    struct rb_memory_access now;
    uint64_t where;
    struct rb_hit before;
};

const char *rb_race_evidence = "hb"; // written at start

static rb_spin pairs_lock;
static uint64_t pairs[KNOWN_PAIRS]; // hashes of reported pairs of places, and of address and threads; 0: free
static uint32_t pair_count;

// One report at a time, and all of reporter.c. Held for long only while the reporter's ring is full, or at
// the end.
static rb_spin report_lock;
static char *text_buffer, *plain_buffer;
static struct utsname host;
static uint64_t printed, not_printed; // by the program itself, without a reporter
static uint64_t printed_partial;      // of both: known by partial evidence
static bool closed;                   // nothing is reported any more

int rb_race_reports_init(void)
{
    const size_t bytes = TEXT_BYTES + PLAIN_BYTES;

    text_buffer = rb_pages_map(bytes);
    if (!text_buffer)
        return -ENOMEM;
    plain_buffer = text_buffer + TEXT_BYTES;
    rb_footprint_map(text_buffer, bytes);
    if (uname(&host))
        host.nodename[0] = 0;
    return 0;
}

void rb_races_reset_after_fork(void)
{
    pairs_lock = report_lock = 0;
    printed = not_printed = printed_partial = 0;
    rb_reporter_reset_after_fork();
}

// Takes the lock. The wait takes no processor time from threads that the holder may wait for.
static void lock_reports(void)
{
    static const struct timespec pause = {0, 200000};

    while (!rb_spin_try(&report_lock)) {
        if (rb_host.sandboxed)
            __builtin_ia32_pause();
        else
            syscall(SYS_nanosleep, &pause, NULL); // not libc's, where a cancelled thread would end
    }
}

static uint64_t innermost_pc(uint64_t where)
{
    uintptr_t pc = 0;

    rb_stack_frames(rb_where_stack(where), &pc, 1);
    return pc;
}

// Returns the hash of a pair of places, in either order.
static uint64_t hash_pair(uint64_t a, uint64_t b)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;

    return rb_mix64(rb_mix64(low) + 3 * high) | 1;
}

// Returns the index of the hash in `pairs`, or of the free slot it would have.
static uint32_t find_pair(uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (KNOWN_PAIRS - 1);

    while (pairs[i] && pairs[i] != hash)
        i = (i + 1) & (KNOWN_PAIRS - 1);
    return i;
}

// Returns true if neither the places nor the address were reported yet; from now on both were. A pair of
// places first found at an address that was reported stays unknown: at another address it is new.
static bool is_new(uint64_t places, uint64_t address)
{
    bool neither;

    rb_spin_lock(&pairs_lock);
    neither =
        !pairs[find_pair(places)] && !pairs[find_pair(address)] && pair_count + 2 <= KNOWN_PAIRS / 4 * 3;
    if (neither) {
        pairs[find_pair(places)] = places;
        pairs[find_pair(address)] = address;
        pair_count += 2;
    }
    rb_spin_unlock(&pairs_lock);
    return neither;
}

void rb_race_found(struct rb_self *me, const struct rb_memory_access *now, uint64_t where,
                   const struct rb_hit *before)
{
    int fd;

    me->count.races++;
    if (rb_is_benign(before->address))
        return;
    const uint64_t places = hash_pair(innermost_pc(where), innermost_pc(before->where));
    if (rb_load_relaxed(&pairs[(uint32_t)places & (KNOWN_PAIRS - 1)]) == places)
        return;
    // `x++` against `x++` is three pairs of places: one of the same two threads and address is enough.
    const uint64_t threads = hash_pair(rb_where_thread(where) + 1, rb_where_thread(before->where) + 1);
    if (!rb_fd_of_word(now->address, &fd) && rb_access_faults(now)) // before the pair counts as reported
        return;
    if (!is_new(places, hash_pair(before->address, threads)))
        return;
    struct rb_found *f = rb_arena_alloc(&rb_process.arena, sizeof(*f));
    if (!f)
        return;
    *f = (struct rb_found){me->found, *now, where, *before};
    me->found = f;
}

// ---- partial evidence ----------------------------------------------------------------------------------

#define MOST_UNSEEN 8u // libraries that a report names

// The unseen libraries with a frame in one of the stacks: order made in them was followed from outside only.
struct unseen {
    uint32_t library[MOST_UNSEEN];
    unsigned count;
};

static void add_unseen(struct unseen *u, uint32_t library)
{
    for (unsigned i = 0; i < u->count; i++)
        if (u->library[i] == library)
            return;
    if (u->count < MOST_UNSEEN)
        u->library[u->count++] = library;
}

static struct unseen find_unseen(const struct rb_found *f)
{
    const uint64_t where[2] = {f->where, f->before.where};
    struct unseen u = {.count = 0};

    for (unsigned i = 0; i < 2 && rb_load_relaxed(&rb_unseen_count); i++) {
        uintptr_t pcs[FRAMES];
        const unsigned n = rb_stack_frames(rb_where_stack(where[i]), pcs, FRAMES);
        for (unsigned k = 0; k < n; k++) {
            const uint32_t library = rb_unseen_find(pcs[k] - 1);
            if (library != RB_UNSEEN_NONE)
                add_unseen(&u, library);
        }
    }
    return u;
}

// Returns the name of a library's file; it stays when the library has gone.
static const char *name_of_unseen(const struct unseen *u, unsigned i)
{
    const char *name = rb_unseen_library[u->library[i]].name;

    return name ? name : "a library";
}

// Returns true if the race is listed, and changes neither the course nor the status of the program.
static bool is_only_listed(const struct rb_found *f)
{
    return rb_options.partial == RB_PARTIAL_LIST && find_unseen(f).count;
}

// ---- the record ----------------------------------------------------------------------------------------

static void put_frame(struct rb_text *t, uintptr_t pc)
{
    struct rb_module m;

    if (!rb_module_of(pc, &m)) {
        rb_put(t, "{\"address\":\"");
        rb_put_hex(t, pc);
        rb_put(t, "\"}");
        return;
    }
    rb_put(t, "{\"module\":");
    rb_put_string(t, m.path);
    if (m.build_id[0]) {
        rb_put(t, ",\"build_id\":");
        rb_put_string(t, m.build_id);
    }
    rb_put(t, ",\"offset\":\"");
    rb_put_hex(t, pc - m.bias);
    rb_put(t, "\"}");
}

static void put_stack(struct rb_text *t, rb_stack stack)
{
    uintptr_t pcs[FRAMES];
    const unsigned n = rb_stack_frames(stack, pcs, FRAMES);

    rb_put(t, "\"stack\":[");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            rb_put_char(t, ',');
        put_frame(t, pcs[i]);
    }
    rb_put_char(t, ']');
}

static void put_access(struct rb_text *t, bool write, bool atomic, uintptr_t address, size_t size,
                       uint64_t where)
{
    rb_put(t, "{\"op\":");
    rb_put_string(t, write ? "write" : "read");
    rb_put(t, ",\"atomic\":");
    rb_put(t, atomic ? "true" : "false");
    rb_put(t, ",\"size\":");
    rb_put_number(t, size);
    rb_put(t, ",\"address\":\"");
    rb_put_hex(t, address);
    rb_put(t, "\",\"thread\":");
    rb_put_number(t, rb_where_thread(where));
    rb_put_char(t, ',');
    put_stack(t, rb_where_stack(where));
}

static void put_thread(struct rb_text *t, uint32_t id, bool first)
{
    struct rb_thread_note n;

    if (!rb_thread_note(id, &n))
        return;
    if (!first)
        rb_put_char(t, ',');
    rb_put(t, "{\"id\":");
    rb_put_number(t, id);
    rb_put(t, ",\"os_id\":");
    rb_put_number(t, n.os_id);
    if (n.name[0]) {
        rb_put(t, ",\"name\":");
        rb_put_string(t, n.name);
    }
    rb_put(t, ",\"running\":");
    rb_put(t, n.running ? "true" : "false");
    if (n.parent != RB_NO_THREAD) {
        rb_put(t, ",\"created_by\":");
        rb_put_number(t, n.parent);
    }
    if (n.created) {
        rb_put_char(t, ',');
        put_stack(t, n.created);
    }
    rb_put_char(t, '}');
}

// Writes the description of the address. Returns the thread it belongs to, or RB_NO_THREAD.
static uint32_t put_location(struct rb_text *t, uintptr_t address)
{
    struct rb_module m;
    struct rb_block b;
    uint32_t id = RB_NO_THREAD;
    bool tls = false;
    int fd;

    rb_put(t, "\"location\":{");
    if (rb_fd_of_word(address, &fd)) {
        rb_put(t, "\"kind\":\"fd\",\"fd\":");
        rb_put_number(t, (uint64_t)fd);
    } else if (rb_heap_block(address, &b)) {
        rb_put(t, "\"kind\":\"heap\",\"address\":\"");
        rb_put_hex(t, b.address);
        rb_put(t, "\",\"size\":");
        rb_put_number(t, b.size);
        if (b.thread != RB_NO_THREAD) {
            rb_put(t, ",\"thread\":");
            rb_put_number(t, id = b.thread);
            rb_put_char(t, ',');
            put_stack(t, b.stack);
        }
    } else if (rb_thread_of_stack(address, &id, &tls)) {
        rb_put(t, tls ? "\"kind\":\"tls\",\"thread\":" : "\"kind\":\"stack\",\"thread\":");
        rb_put_number(t, id);
    } else if (rb_module_of(address, &m)) {
        rb_put(t, "\"kind\":\"global\",\"module\":");
        rb_put_string(t, m.path);
        if (m.build_id[0]) {
            rb_put(t, ",\"build_id\":");
            rb_put_string(t, m.build_id);
        }
        rb_put(t, ",\"offset\":\"");
        rb_put_hex(t, address - m.bias);
        rb_put_char(t, '"');
    } else {
        rb_put(t, "\"kind\":\"unknown\"");
    }
    rb_put_char(t, '}');
    return id;
}

static void put_time(struct rb_text *t)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    rb_put_parts(t, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, 3);
}

// Writes the head of a record. In a sandboxed process the reporter adds the time.
static void put_head(struct rb_text *t, const struct unseen *u)
{
    rb_put(t, "{\"evidence\":");
    rb_put_string(t, u->count ? "partial" : rb_race_evidence);
    for (unsigned i = 0; i < u->count; i++) {
        rb_put(t, i ? "," : ",\"unseen\":[");
        rb_put_string(t, name_of_unseen(u, i));
    }
    rb_put(t, u->count ? "]" : "");
    rb_put(t, ",\"pid\":");
    rb_put_number(t, rb_process.pid);
    rb_put(t, ",\"host\":");
    rb_put_string(t, host.nodename);
    if (!rb_host.sandboxed) {
        rb_put(t, ",\"time\":");
        put_time(t);
    }
    rb_put(t, ",\"sampler\":");
    rb_put_string(t, rb_options.sampler);
    rb_put(t, ",\"engine\":");
    rb_put_string(t, rb_process.ops->name);
    rb_put(t, ",\"program\":");
    rb_put_string(t, rb_program_path());
}

static void put_value(struct rb_text *t, const struct rb_memory_access *now)
{
    uint64_t value;
    int fd;

    if (now->size > 8 || rb_fd_of_word(now->address, &fd)) // no memory there
        return;
    if (rb_memory_read(now->address, now->size, &value))
        return;
    rb_put(t, ",\"value\":\"");
    rb_put_hex(t, value);
    rb_put_char(t, '"');
}

static void put_record(struct rb_text *t, const struct rb_found *f)
{
    const uint32_t one = rb_where_thread(f->where), two = rb_where_thread(f->before.where);
    const bool wrote = rb_epoch_is_write(f->before.epoch);

    const struct unseen u = find_unseen(f);

    put_head(t, &u);
    rb_put(t, ",\"accesses\":[");
    put_access(t, f->now.write, f->now.atomic, f->now.address, f->now.size, f->where);
    put_value(t, &f->now);
    rb_put(t, "},");
    put_access(t, wrote, f->before.atomic, f->before.address, rb_where_size(f->before.where),
               f->before.where);
    rb_put(t, "}],");
    const uint32_t owner = put_location(t, f->before.address);
    rb_put(t, ",\"threads\":[");
    put_thread(t, one, true);
    if (two != one)
        put_thread(t, two, false);
    if (owner != RB_NO_THREAD && owner != one && owner != two)
        put_thread(t, owner, false);
    rb_put(t, "]");
    rb_put_control(t);
    rb_put(t, "}\n");
}

// Writes the text for use without the tool: the facts known in this process.
static void put_plain(struct rb_text *t, const struct rb_found *f)
{
    const uint64_t where[2] = {f->where, f->before.where};
    const struct unseen u = find_unseen(f);

    rb_put(t, "==================\nWARNING: Railbird: data race (pid=");
    rb_put_number(t, rb_process.pid);
    rb_put(t, ")\n");
    for (int i = 0; i < 2; i++) {
        const bool write = i ? rb_epoch_is_write(f->before.epoch) : f->now.write;
        uintptr_t pcs[FRAMES];
        const unsigned n = rb_stack_frames(rb_where_stack(where[i]), pcs, FRAMES);
        rb_put(t, i ? "  Previous " : "  ");
        rb_put(t, write ? i ? "write" : "Write" : i ? "read" : "Read");
        rb_put(t, " of size ");
        rb_put_number(t, i ? rb_where_size(f->before.where) : f->now.size);
        rb_put(t, " at ");
        rb_put_hex(t, i ? f->before.address : f->now.address);
        rb_put(t, " by thread T");
        rb_put_number(t, rb_where_thread(where[i]));
        rb_put(t, ":\n");
        for (unsigned k = 0; k < n; k++) {
            struct rb_module m;
            rb_put(t, "    #");
            rb_put_number(t, k);
            rb_put_char(t, ' ');
            rb_put_hex(t, pcs[k]);
            if (rb_module_of(pcs[k], &m)) {
                rb_put(t, " (");
                rb_put(t, m.path);
                rb_put_char(t, '+');
                rb_put_hex(t, pcs[k] - m.bias);
                rb_put_char(t, ')');
            }
            rb_put_char(t, '\n');
        }
    }
    for (unsigned i = 0; i < u.count; i++) {
        rb_put(t, "  order made in ");
        rb_put(t, name_of_unseen(&u, i));
        rb_put(t, " could not be followed\n");
    }
    rb_put(t, "==================\n");
}

// Takes the counts over from the reporter.
static void take_totals(void)
{
    const struct rb_reporter_totals t = rb_reporter_totals();

    rb_process.races = printed + not_printed + t.reported;
    rb_process.suppressed = t.suppressed;
    rb_process.partial = printed_partial + t.partial;
}

// Prints without the reporter: the bare record goes to the file, and the text with addresses to people.
static void print_here(const struct rb_text *record, const struct rb_text *plain)
{
    if (rb_options.max_reports && printed >= rb_options.max_reports) {
        not_printed++;
        return;
    }
    printed++;
    if (!record->full)
        rb_tool_keep(record->start, (size_t)(record->at - record->start));
    if (rb_options.report)
        rb_say(plain->start, (size_t)(plain->at - plain->start));
}

static void report_race(const struct rb_found *f)
{
    struct rb_text record, plain;

    if (!rb_options.report && !rb_options.report_json[0]) {
        printed++;
        return;
    }
    rb_text_init(&record, text_buffer, TEXT_BYTES);
    rb_text_init(&plain, plain_buffer, PLAIN_BYTES);
    put_record(&record, f);
    put_plain(&plain, f);
    if (record.full || !rb_reporter_give(record.start, (size_t)(record.at - record.start), plain.start,
                                         (size_t)(plain.at - plain.start)))
        print_here(&record, &plain);
}

// Reports, and waits for the result. Returns false if it was suppressed.
static bool report_and_wait(const struct rb_found *f)
{
    rb_reporter_wait();
    take_totals();
    const uint64_t before = rb_process.suppressed;

    report_race(f);
    rb_reporter_wait();
    take_totals();
    return rb_process.suppressed == before;
}

static void tell_program(struct rb_self *me, const struct rb_found *f)
{
    const struct rb_report_view view = {
        {{f->now.address, f->now.size, rb_where_thread(f->where), rb_where_stack(f->where), f->now.write,
          f->now.atomic},
         {f->before.address, rb_where_size(f->before.where), rb_where_thread(f->before.where),
          rb_where_stack(f->before.where), rb_epoch_is_write(f->before.epoch), f->before.atomic}}};

    rb_report_hook(me, &view);
}

void rb_races_drop(struct rb_self *me)
{
    while (me->found) {
        struct rb_found *f = me->found;
        me->found = f->next;
        rb_arena_free(&rb_process.arena, f, sizeof(*f));
    }
}

// Reports one race. Returns true if the program is to be told of it, or ended.
static bool report_one(const struct rb_found *f)
{
    bool reported = false;

    lock_reports();
    if (closed)
        ;
    else if (rb_options.halt_on_error || rb_report_hook_is_set())
        reported = report_and_wait(f);
    else
        report_race(f);
    rb_spin_unlock(&report_lock);
    return reported;
}

void rb_races_report_slow(struct rb_self *me)
{
    const int saved = errno;
    struct rb_found *f = me->found;

    me->found = NULL;
    if (!rb_is_our_process()) { // a child that came by a bare instruction: locks of others stay locked in it
        errno = saved;
        return;
    }
    if (rb_reporter_left && rb_spin_try(&report_lock)) {
        rb_reporter_reap();
        rb_spin_unlock(&report_lock);
    }
    while (f) {
        struct rb_found *next = f->next;
        if (report_one(f)) {
            tell_program(me, f);
            if (rb_options.halt_on_error && !is_only_listed(f))
                rb_halt();
        }
        rb_arena_free(&rb_process.arena, f, sizeof(*f));
        f = next;
    }
    errno = saved;
}

uint64_t rb_races_count(void)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me && rb_is_our_process()) {
        lock_reports();
        rb_reporter_wait();
        take_totals();
        rb_spin_unlock(&report_lock);
    }
    if (me)
        rb_leave(me);
    errno = saved;
    return rb_process.races;
}

void rb_races_pause(void)
{
    if (rb_host.sandboxed || !rb_is_our_process())
        return;
    lock_reports();
    if (rb_reporter_is_child())
        rb_reporter_end();
    rb_spin_unlock(&report_lock);
}

bool rb_races_are_found(void)
{
    return printed || not_printed || rb_reporter_totals().reported || rb_process.races;
}

static void say_not_printed(void)
{
    char line[160];
    struct rb_text t;

    rb_text_init(&t, line, sizeof(line));
    rb_put(&t, "Railbird: ");
    rb_put_number(&t, not_printed);
    rb_put(&t, not_printed == 1 ? " more race was found and is" : " more races were found and are");
    rb_put(&t, " not shown (max_reports=");
    rb_put_number(&t, rb_options.max_reports);
    rb_put(&t, ")\n");
    rb_say(t.start, (size_t)(t.at - t.start));
}

// Blocks signals: the thread may have no state that keeps handlers away.
void rb_races_finish(void)
{
    const uint64_t all = ~(uint64_t)0;
    uint64_t before = 0;

    if (!rb_host.sandboxed)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
    lock_reports();
    closed = true;
    rb_reporter_end();
    take_totals();
    if (not_printed && rb_options.report && !rb_host.sandboxed)
        say_not_printed();
    rb_spin_unlock(&report_lock);
    if (!rb_host.sandboxed)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
}

void rb_reporter_prepare(void)
{
    struct rb_self *me = rb_options.report || rb_options.report_json[0] ? rb_enter() : NULL;

    if (!me)
        return;
    lock_reports();
    rb_reporter_stay();
    rb_spin_unlock(&report_lock);
    rb_leave(me);
}
