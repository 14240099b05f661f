// Data breakpoints of the kernel's (perf_event_open), one set for all threads, and what becomes of a trap.
//
// Breakpoints   Opened, disabled, by the thread that is about to make the second one: `inherit_thread` gives
//               them to all threads made since, by clones of the events, and not to children of fork.
//               One ioctl moves a breakpoint in all threads.
// Soundness     A trap comes after the instruction and on its thread, before anything else runs there: the
//               thread's clock is the access's. What is shown to be a plain access that a hook announced is
//               handled like a sampled one; everything else is dropped. "Shown" is `find_access`: the nearest
//               call site before it, verified in the code, calls the hook of a single plain access; from
//               there to the trap the code is a straight line; and of its instructions the trapping one is
//               the first that touches memory as the hook announced. So atomics (done in the runtime), libc,
//               inline assembly and code without hooks are dropped.
// Rests         While all rests order is not followed: all breakpoints are given up, and a trap that comes
//               nevertheless is not judged. The handler asks for that after the access and before the
//               history, as hooks do: docs/runtime.md, section 3, has why that is enough. A breakpoint is
//               worth something as long as its access is remembered, which is to the end of its generation.
// Reuse         Nothing is connected by the breakpoint: the history decides, which is forgotten when memory
//               starts anew. A breakpoint on memory that has become another's catches accesses of that.
// Cost          A trap costs microseconds, on a virtual machine tens of them. A breakpoint is given up after
//               a judged access, or MOST_HITS others. All of it is measured and charged to the allowance, and
//               at most a quarter of what the sampler earns goes into it.
#include "rt/watchpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rt/access.h"
#include "rt/arch_access.h"
#include "rt/init.h"
#include "rt/race.h"
#include "rt/sampling.h"
#include "rt/signals.h"
#include "rt/sites.h"
#include "rt/tool.h"

#define SLOTS        4u
#define PLACES       1024u               // of code, by hash
#define LEAST_SHARE  8                   // a place gets at least one breakpoint of 2^8 that it might have
#define MOST_HITS    2u                  // that are not judged, before a breakpoint is given up
#define REACH        64u                 // bytes of code between a call site and its access
#define MINE         0x7261696c62697200u // sig_data, plus the slot
#define PERF_TRAP    6                   // si_code TRAP_PERF
#define INTERVAL     2500000u            // ticks between two that are set, at least
#define SHARE        4                   // of what the sampler earns, one of so many
#define PURSE        6250000             // ticks that may be saved up
#define FRESH        100000u             // ticks that a write may wait for the thread's next access
#define LONGEST      500000u             // ticks
#define TRACED_TURNS 128u                // of the ticker, from one look for a debugger to the next
#define UNHEARD      4096u               // hits in a turn that no handler heard of

// As the kernel has it; libc's siginfo_t may be older.
struct trap_info {
    int number, error, code, pad;
    uintptr_t address;
    uint64_t data;
    uint32_t type, flags; // bit 0 of flags: it came late, for the signal was blocked
};

struct slot {
    int fd;
    bool set;
    struct perf_event_attr attr;
    uint32_t thread;     // for whose access it is set
    uint32_t generation; // of the history, that the access is in
    uint32_t hits;
    uint8_t *tried; // of the place that it was set at
};

uint64_t rb_watchpoints_next = UINT64_MAX;

// Written by the thread that opens; later under `lock`, which is only ever tried. Traps come anywhere, also
// where it is held: they write `set` and `hits` alone.
static struct slot slots[SLOTS];
static uint32_t count, turn, turns;
static rb_spin lock;
static bool opened, stopped;
static pid_t process;
static const char *missing;
static int64_t purse;  // ticks that may be spent; below zero nothing is set
static uint64_t spent; // ticks
static uint64_t heard, seen_heard, seen_hits;
static uint64_t trap_ticks; // of a trap, but for what we do in it
static volatile bool probing;
static volatile uint64_t probe __attribute__((aligned(8)));

// How often a breakpoint that was set at a place has been hit: data that its own thread uses all the time, or
// that others use in good order. One of 2^tried is set. So breakpoints go to places that have not had one,
// and to those whose data is used seldom: there another thread's access is worth waiting for.
static uint8_t tried[PLACES];

// An access that is to be watched.
struct wanted {
    struct rb_touch touch;
    uintptr_t pc;
    uint32_t generation;
    uint64_t since; // ticks
};
static RB_TLS struct wanted waiting; // a write, until the thread is past it

bool rb_watchpoints_on(void)
{
    return count && !__atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

const char *rb_watchpoints_missing(void)
{
    return missing;
}

void rb_watchpoints_refused(const char *reason)
{
    char line[256];
    struct rb_text t;

    missing = reason;
    if (rb_process.child) // its parent has said so
        return;
    rb_text_init(&t, line, sizeof(line));
    rb_put(&t, "Railbird: watch=1: no hardware breakpoints for sampled accesses: ");
    rb_put(&t, reason);
    rb_put(&t, "; going on without\n");
    rb_say(t.start, (size_t)(t.at - t.start));
}

// ---- breakpoints ---------------------------------------------------------------------------------------

static bool is_set(const struct slot *s)
{
    return __atomic_load_n(&s->set, __ATOMIC_RELAXED);
}

// Set, and for an access that is still remembered.
static bool is_of_use(const struct slot *s)
{
    return is_set(s) && s->generation == __atomic_load_n(&rb_process.generation, __ATOMIC_RELAXED);
}

// `lock` is held, or nobody else is there.
static bool move(struct slot *s, uintptr_t address, unsigned bytes, bool writes_only)
{
    s->attr.bp_addr = address;
    s->attr.bp_len = bytes;
    s->attr.bp_type = writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
    s->attr.disabled = 0;
    __atomic_store_n(&s->set, true, __ATOMIC_RELAXED);
    return syscall(SYS_ioctl, s->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &s->attr) == 0;
}

// Without the lock: who holds it may be what the trap interrupted, and it would come again and again.
static bool give_up(struct slot *s)
{
    __atomic_store_n(&s->set, false, __ATOMIC_RELAXED);
    return syscall(SYS_ioctl, s->fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
}

// A descriptor far from those that the program gets: just below its limit. The ticker reads from it, so it
// must not become another file's, should the program close it.
static int far_away(int fd)
{
    struct rlimit limit;

    if (fd < 0)
        return fd;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        limit.rlim_cur = 0;
    const long top = limit.rlim_cur > 65536 ? 65536 : (long)limit.rlim_cur;
    for (long from = top - (long)SLOTS - 1; from > 16; from /= 2) {
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

static bool open_slot(struct slot *s, unsigned number)
{
    s->attr = (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
                                       .size = sizeof(s->attr),
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
    s->fd = far_away((int)syscall(SYS_perf_event_open, &s->attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    return s->fd >= 0;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < count; i++)
        syscall(SYS_close, slots[i].fd);
    count = 0;
}

// Before 5.19 a trap that found SIGTRAP blocked killed the process.
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

// A debugger would be shown every trap, and stop.
static bool is_traced(void)
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

// Does one really trap, and what does that cost? The best of some.
static bool try_one(void)
{
    uint64_t least = UINT64_MAX;

    if (!move(&slots[0], (uintptr_t)&probe, 8, true))
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
    trap_ticks = least;
    probing = false;
    return give_up(&slots[0]) && least != UINT64_MAX;
}

static const char *why_not(int error)
{
    return error == EACCES || error == EPERM
               ? "not permitted (kernel.perf_event_paranoid above 2, or a seccomp filter)"
           : error == ENOSPC ? "all of them are in use"
           : error == ENOSYS ? "the kernel has no perf_event_open"
           : error == EINVAL ? "the kernel does not know them in this form"
           : error == EMFILE ? "no descriptor is free"
                             : "the kernel or the virtual machine has none";
}

static const char *open_all(void)
{
    if (!rb_sites_on)
        return "the code cannot be changed, so no call site is known";
    if (!kernel_is_new())
        return "Linux 5.19 or later is needed";
    if (is_traced())
        return "a debugger is there";
    while (count < SLOTS && open_slot(&slots[count], count))
        count++;
    if (!count)
        return why_not(errno);
    if (!rb_trap_take())
        return "SIGTRAP is not to be had";
    if (!try_one())
        return "they are accepted and never hit, as on some virtual machines";
    return NULL;
}

void rb_watchpoints_open(void)
{
    const int saved = errno;

    if (opened || !rb_options.watch)
        return;
    opened = true;
    stopped = false;
    process = (pid_t)syscall(SYS_getpid);
    const char *reason = open_all();
    if (reason) {
        close_all();
        rb_watchpoints_refused(reason);
    } else {
        rb_watchpoints_next = 0;
    }
    purse = PURSE;
    errno = saved;
}

static void give_up_all(void)
{
    __atomic_store_n(&rb_watchpoints_next, UINT64_MAX, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < count && process == (pid_t)syscall(SYS_getpid); i++)
        if (is_set(&slots[i]))
            give_up(&slots[i]);
}

void rb_watchpoints_stop(const char *reason)
{
    const int saved = errno;

    if (!count || __atomic_exchange_n(&stopped, true, __ATOMIC_SEQ_CST))
        return;
    missing = reason;
    give_up_all();
    errno = saved;
}

// Who is about to set one is not waited for: it is given up when it is hit.
void rb_watchpoints_rest(void)
{
    if (rb_watchpoints_on())
        give_up_all();
}

// The descriptors are the parent's events.
void rb_watchpoints_reset_after_fork(void)
{
    rb_watchpoints_next = UINT64_MAX;
    close_all();
    if (opened)
        missing = NULL;
    opened = stopped = false;
    lock = 0;
    turn = 0;
    spent = heard = seen_heard = seen_hits = 0;
}

// ---- arming --------------------------------------------------------------------------------------------

// The largest piece at the beginning of the bytes that a breakpoint can have.
static unsigned piece(const struct rb_touch *t)
{
    unsigned bytes = 8;

    while (bytes > t->size || t->address % bytes)
        bytes /= 2;
    return bytes;
}

static struct slot *choose(const struct rb_touch *t)
{
    struct slot *free_one = NULL;

    for (uint32_t i = 0; i < count; i++) {
        if (!is_of_use(&slots[i]))
            free_one = &slots[i];
        else if (slots[i].attr.bp_addr - t->address < t->size)
            return NULL;
    }
    return free_one ? free_one : &slots[turn++ % count];
}

static void pay(uint64_t ticks)
{
    if (ticks > LONGEST) // not on a core
        ticks = LONGEST;
    __atomic_fetch_add(&spent, ticks, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&purse, (int64_t)ticks, __ATOMIC_RELAXED) < 0)
        __atomic_store_n(&rb_watchpoints_next, UINT64_MAX, __ATOMIC_RELAXED);
}

static uint8_t *place_of(uintptr_t pc)
{
    return &tried[(pc * 0x9e3779b97f4a7c15u >> 32) % PLACES];
}

static void arm(struct rb_self *me, const struct wanted *w)
{
    const int saved = errno;
    const uint64_t start = rb_arch_ticks();
    const struct rb_touch *t = &w->touch;
    struct slot *s;

    if (!rb_spin_try(&lock))
        return;
    if (rb_watchpoints_due() && process == (pid_t)syscall(SYS_getpid) && (s = choose(t)) != NULL) {
        s->thread = me->id;
        s->generation = w->generation;
        s->hits = 0;
        s->tried = place_of(w->pc);
        me->count.watch_armed++;
        const bool moved = move(s, t->address, piece(t), !t->write);
        const uint64_t now = rb_arch_ticks();
        if (__atomic_load_n(&rb_watchpoints_next, __ATOMIC_RELAXED) != UINT64_MAX)
            __atomic_store_n(&rb_watchpoints_next, now + INTERVAL, __ATOMIC_RELAXED);
        pay(now - start);
        if (!moved)
            rb_watchpoints_stop("the program has closed their descriptors");
    }
    rb_spin_unlock(&lock);
    errno = saved;
}

// On the thread's own stack, or thread-local: errno is there, which our handler would hit.
static bool is_own(const struct rb_self *me, uintptr_t address)
{
    const uintptr_t pointer = (uintptr_t)__builtin_thread_pointer(), below = (uintptr_t)64 << 10;

    return address - me->walk.stack_lo < me->walk.stack_hi - me->walk.stack_lo ||
           address - (pointer - below) < below + 4096;
}

// A read is watched at once: its own thread's reads do not trap. A write would trap first of all itself, the
// hook being called before it: it waits for the thread's next access, if that comes soon.
void rb_watchpoints_arm(struct rb_self *me, const struct rb_touch *t, uintptr_t pc)
{
    const struct wanted w = {*t, pc, __atomic_load_n(&rb_process.generation, __ATOMIC_RELAXED),
                             rb_arch_ticks()};

    if (waiting.touch.size && w.since - waiting.since < FRESH && w.generation == waiting.generation) {
        arm(me, &waiting);
        waiting.touch.size = 0;
        return;
    }
    if (t->atomic || is_own(me, t->address) || rb_rng_below(&me->rng, (uint64_t)1 << *place_of(pc)) != 0)
        return;
    if (t->write)
        waiting = w;
    else
        arm(me, &w);
}

// ---- traps ---------------------------------------------------------------------------------------------

struct caught {
    struct rb_touch touch;
    uintptr_t site;
};

// Is the instruction an access that the hook does not announce: a spill, a local?
static bool is_of_frame(const struct rb_self *me, const struct rb_code *c)
{
    return c->on_frame && c->address - me->walk.stack_lo < me->walk.stack_hi - me->walk.stack_lo;
}

// From the call site to the trap: the instruction that ends at `pc`. False: not shown.
static bool find_instruction(const struct rb_self *me, uintptr_t site, uintptr_t pc,
                             const ucontext_t *context, const struct rb_hook *hook, struct rb_code *code)
{
    bool read = false, wrote = false;

    for (uintptr_t at = site; at < pc; at += code->bytes) {
        rb_arch_code(at, context, code);
        if (code->barrier)
            return false;
        if (at + code->bytes == pc)
            return code->memory && code->known &&
                   (code->writes ? hook->writes && !wrote : hook->reads && !read);
        if (!code->memory || is_of_frame(me, code))
            continue;
        if (!code->known)
            return false;
        if (code->size <= hook->size) {
            read |= code->reads;
            wrote |= code->writes;
        }
    }
    return false;
}

static bool find_access(const struct rb_self *me, uintptr_t watched, unsigned bytes,
                        const ucontext_t *context, struct caught *caught)
{
    const uintptr_t pc = rb_arch_pc(context);
    const struct rb_hook *hook;
    struct rb_code code;
    uintptr_t function;

    caught->site = rb_site_before(pc, REACH, &function);
    if (!caught->site || !(hook = rb_hook_at(function)) ||
        !find_instruction(me, caught->site, pc, context, hook, &code) || code.size > hook->size)
        return false;
    uintptr_t address = code.address;
    if (code.lost) {
        if (!hook->aligned || code.size != hook->size || bytes > code.size)
            return false;
        address = watched & ~(uintptr_t)(code.size - 1);
    }
    if (address >= watched + bytes || watched >= address + code.size)
        return false;
    caught->touch = (struct rb_touch){address, code.size, code.writes, false, true};
    return true;
}

static void judge(struct rb_self *me, const struct caught *c, const ucontext_t *context)
{
    const struct rb_unwind_frame frame = rb_arch_frame(context, c->site);

    rb_access_trapped(me, &c->touch, &frame);
    rb_races_report(me);
}

static void done_with(struct slot *s, bool judged)
{
    if (__atomic_add_fetch(&s->hits, 1, __ATOMIC_RELAXED) < MOST_HITS && !judged && is_of_use(s) &&
        rb_adaptive_taking())
        return;
    uint8_t *place = s->tried;
    give_up(s);
    if (place)
        *place = (uint8_t)(*place + (*place < LEAST_SHARE));
}

bool rb_watchpoints_trap(const siginfo_t *info, void *context)
{
    const struct trap_info *trap = (const void *)info;
    struct caught caught;
    struct rb_self *me;

    if (trap->code != PERF_TRAP || trap->type != PERF_TYPE_BREAKPOINT || trap->data - MINE >= SLOTS)
        return false;
    if (probing) {
        probing = false;
        return true;
    }
    const uint64_t start = rb_arch_ticks();
    struct slot *s = &slots[trap->data - MINE];
    bool judged = false;
    __atomic_fetch_add(&heard, 1, __ATOMIC_RELAXED);
    if (process != (pid_t)syscall(SYS_getpid))
        return true;
    if (__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
        give_up(s);
        return true;
    }
    me = rb_self_tls ? rb_enter() : NULL;
    if (me) {
        const bool own = s->thread == me->id;
        // First: is it taken; what is asked of the history comes after that.
        const bool there = rb_adaptive_taking() && is_of_use(s) && s->attr.bp_addr == trap->address;
        me->count.watch_trapped++;
        if (own) {
            me->count.watch_own++;
        } else if (there && !(trap->flags & 1) &&
                   find_access(me, trap->address, (unsigned)s->attr.bp_len, context, &caught)) {
            judged = true;
            me->count.watch_judged++;
        } else {
            me->count.watch_dropped++;
        }
    }
    done_with(s, judged);
    const uint64_t ticks = rb_arch_ticks() - start + trap_ticks;
    pay(ticks);
    if (me) {
        rb_sampling_cost(me, ticks);
        if (judged)
            judge(me, &caught, context);
        rb_leave(me);
    }
    return true;
}

// ---- the ticker ----------------------------------------------------------------------------------------

// A thread that has SIGTRAP blocked by means we do not see is slowed down by each hit, and no handler knows.
static bool is_unheard(void)
{
    uint64_t hits = 0, value;

    for (uint32_t i = 0; i < count; i++)
        if (syscall(SYS_read, slots[i].fd, &value, sizeof(value)) == sizeof(value))
            hits += value;
    const uint64_t known = __atomic_load_n(&heard, __ATOMIC_RELAXED);
    const uint64_t missed = hits - seen_hits - (known - seen_heard);
    seen_hits = hits;
    seen_heard = known;
    return (int64_t)missed > (int64_t)UNHEARD;
}

void rb_watchpoints_turn(int64_t earned, bool open)
{
    if (!rb_watchpoints_on())
        return;
    if (is_unheard()) {
        rb_watchpoints_stop("the program blocks SIGTRAP");
        return;
    }
    if (++turns % TRACED_TURNS == 0 && is_traced()) {
        rb_watchpoints_stop("a debugger is there");
        return;
    }
    const int64_t left = __atomic_add_fetch(&purse, earned / SHARE, __ATOMIC_RELAXED);
    if (left > PURSE)
        __atomic_store_n(&purse, PURSE, __ATOMIC_RELAXED);
    const uint64_t due = __atomic_load_n(&rb_watchpoints_next, __ATOMIC_RELAXED);
    if (open && left > 0 && due == UINT64_MAX)
        __atomic_store_n(&rb_watchpoints_next, rb_arch_ticks(), __ATOMIC_RELAXED);
    else if (!open && due != UINT64_MAX)
        __atomic_store_n(&rb_watchpoints_next, UINT64_MAX, __ATOMIC_RELAXED);
}

uint64_t rb_watchpoints_spent(void)
{
    return __atomic_load_n(&spent, __ATOMIC_RELAXED);
}
