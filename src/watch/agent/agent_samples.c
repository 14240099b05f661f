// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Samples: from an int3 to a breakpoint, and from its hit to a pair. All of it runs in the handler of
// SIGTRAP, with all signals blocked, except rb_samples_wait.
//
// A setting of a breakpoint (struct setting) has one owner, the thread that is about to access. Its state:
//
//     FREE -> CLOCK           the owner goes on; hit, expired or given up: -> FREE
//     FREE -> WAITS           the owner waits, right before its access; timed out: -> FREE
//     CLOCK, WAITS -> CAUGHT  by the one thread with the hit; -> FREE
//
// Changes from FREE are made with `arm_lock`; others by compare-and-swap, so one thread wins. `number` is
// odd while the fields are written. A thread that reads them in a hit compares it before and after, and
// drops the hit if they belong to another setting by now. If another setting at the same address has
// followed, the hit is still valid: its thread has done nothing since.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "watch/agent/agent.h"

#define MOST_OWN 8u // hits of the owner's own, before a breakpoint is given up

enum state { FREE, CLOCK, WAITS, CAUGHT };

struct setting {
    uint32_t state, number;
    struct rb_watched *owner;
    uint64_t clock; // the owner's, at its access
    uintptr_t address;
    unsigned bytes;
    uint32_t own;   // hits
    uint64_t until; // ticks
    struct rb_side first;
};
static struct setting settings[RB_BREAKPOINTS];
RB_TLS uint64_t rb_stood;
static rb_spin arm_lock;

static bool change_state(struct setting *s, uint32_t from, uint32_t to)
{
    return rb_cas_strong_acq_rel(&s->state, &from, to);
}

static void free_setting(struct setting *s)
{
    rb_store_release(&s->state, FREE);
    syscall(SYS_futex, &s->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void clear_setting(const struct setting *s)
{
    if (!rb_breakpoint_clear((unsigned)(s - settings)))
        rb_store_relaxed(&rb_agent_missing, "the program has closed the descriptors of the breakpoints");
}

// ---- the first access ----------------------------------------------------------------------------------

static void describe_side(struct rb_side *side, const struct rb_watched *me,
                          const struct rb_code_touch *touch, const struct rb_place *place,
                          const ucontext_t *context)
{
    const greg_t *r = context->uc_mcontext.gregs;
    const uintptr_t pc = (uintptr_t)r[REG_RIP];
    const struct rb_unwind_frame frame = {pc + 1, (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]};

    side->thread = me->id;
    side->parent = me->parent;
    side->os_id = me->os_id;
    side->created = me->created;
    side->address = touch->address;
    side->size = touch->size;
    side->reads = touch->reads;
    side->writes = touch->writes;
    side->module = place->module;
    side->site = place->site;
    side->flags = place->row ? place->row->flags : 0;
    // One name for an instruction, for either side of a pair: the address behind it.
    rb_trail_from(&side->stack, frame,
                  place->row ? place->module->bias + place->row->offset + place->row->length : pc);
}

// Returns true for memory that only this thread uses, and that the handler itself would hit.
static bool is_own(const struct rb_watched *me, const ucontext_t *context, uintptr_t address)
{
    const uintptr_t pointer = (uintptr_t)__builtin_thread_pointer(), below = (uintptr_t)64 << 10,
                    sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];

    return (address >= me->lo && address < me->hi) || address - (pointer - below) < below + 8192 ||
           address - (sp - 65536) < 65536 + 4096;
}

static bool is_fit(const struct rb_watched *me, const ucontext_t *context, const struct rb_code_touch *touch)
{
    return touch->size && touch->exact && (touch->reads || touch->writes) && touch->address >= 4096 &&
           touch->address < ((uintptr_t)1 << 47) - 4096 && !is_own(me, context, touch->address);
}

// Returns a free setting, with the arm lock held, or NULL. An expired setting counts as free.
static struct setting *choose_setting(uint64_t now, uintptr_t address)
{
    struct setting *found = NULL;

    for (uint32_t i = 0; i < rb_breakpoints.count; i++) {
        struct setting *s = &settings[i];
        const uint32_t state = rb_load_acquire(&s->state);
        if (state == FREE)
            found = s;
        else if (s->address == (address & ~(uintptr_t)7) || s->address == address)
            return NULL; // it is being watched
    }
    for (uint32_t i = 0; i < rb_breakpoints.count && !found; i++) {
        struct setting *s = &settings[i];
        if (rb_load_acquire(&s->state) == CLOCK && now > s->until && change_state(s, CLOCK, FREE)) {
            RB_COUNTED(expired);
            found = s;
        }
    }
    return found;
}

static struct setting *arm_setting(struct rb_watched *me, const struct rb_code_touch *touch,
                                   const struct rb_place *place, const ucontext_t *context, bool wait)
{
    const uint64_t now = rb_arch_ticks();
    struct setting *s;

    if (!rb_spin_try(&arm_lock)) {
        RB_COUNTED(no_slot);
        return NULL;
    }
    s = choose_setting(now, touch->address);
    if (!s) {
        rb_spin_unlock(&arm_lock);
        RB_COUNTED(no_slot);
        return NULL;
    }
    rb_store_relaxed(&s->number, s->number + 1);
    rb_fence_seq_cst();
    s->owner = me;
    s->address = touch->address;
    s->bytes = rb_breakpoint_piece(touch->address, touch->size);
    s->own = 0;
    s->until = now + rb_agent_ticks_of_us(rb_agent.window_us);
    describe_side(&s->first, me, touch, place, context);
    s->clock = rb_load_relaxed(&me->clock);
    rb_store_release(&s->number, s->number + 1);
    rb_store_seq_cst(&s->state, wait ? WAITS : CLOCK);
    RB_COUNTED(armed);
    const bool set = rb_breakpoint_set((unsigned)(s - settings), s->address, s->bytes, !touch->writes);
    if (!set) {
        change_state(s, wait ? WAITS : CLOCK, FREE);
        rb_store_relaxed(&rb_agent_missing, "the program has closed the descriptors of the breakpoints");
        s = NULL;
    }
    rb_spin_unlock(&arm_lock);
    return s;
}

static uint64_t value_at(uintptr_t address, unsigned bytes)
{
    switch (bytes) {
    case 8:
        return *(const volatile uint64_t *)address;
    case 4:
        return *(const volatile uint32_t *)address;
    case 2:
        return *(const volatile uint16_t *)address;
    default:
        return *(const volatile uint8_t *)address;
    }
}

// Reads in the same thread, before an access that would fault if the memory were not there. A fault in here
// would be ours, so the kernel reads.
static bool read_value(uintptr_t address, unsigned bytes, uint64_t *value)
{
    const int error = rb_breakpoint_value(address, bytes, value);

    if (error && error != EFAULT) // not permitted
        *value = value_at(address, bytes);
    return error != EFAULT;
}

static void report_changed(struct setting *s)
{
    struct rb_pair *p = rb_pair_new();

    RB_COUNTED(changed);
    if (!p)
        return;
    p->verdict = RB_VERDICT_CHANGED;
    p->side[1] = s->first;
    rb_pair_found(p);
}

// Waits before its access. Reports a changed value if no thread was caught.
static void wait_armed(struct setting *s, uint64_t before, bool readable)
{
    const uint64_t began = rb_arch_ticks();
    const uint64_t most = rb_agent_ticks_of_us(rb_agent.delay_us);
    uint64_t now = began, after;
    uint32_t state;

    while ((state = rb_load_acquire(&s->state)) == WAITS && now - began < most) {
        const uint64_t left = rb_agent_ns(most - (now - began));
        const struct timespec pause = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        syscall(SYS_futex, &s->state, FUTEX_WAIT_PRIVATE, WAITS, &pause, NULL, 0);
        now = rb_arch_ticks();
    }
    if (change_state(s, WAITS, CAUGHT)) { // this thread ends it
        clear_setting(s);
        RB_COUNTED(expired);
        if (readable && read_value(s->address, s->bytes, &after) && after != before)
            report_changed(s);
        free_setting(s);
    }
    rb_stood = rb_arch_ticks() - began;
    rb_agent_delayed(rb_stood);
}

static void take_sample(struct rb_place *place, uintptr_t start, ucontext_t *context, bool slow)
{
    struct rb_watched *me = rb_agent_me;
    struct rb_code_touch touch;
    uint64_t value = 0;
    bool readable = false;

    RB_COUNTED(samples);
    if (!rb_load_acquire(&rb_agent_on))
        return;
    // A thread made by clone may share its maker's thread pointer.
    if (!me || me->os_id != (int32_t)syscall(SYS_gettid)) {
        RB_COUNTED(unfit);
        return;
    }
    rb_code_touch_before(place->row, start, context, &touch);
    if (!is_fit(me, context, &touch)) {
        RB_COUNTED(unfit);
        return;
    }
    const bool wait = (slow || rb_agent.mode == RB_MODE_COLLIDE) && rb_agent_may_delay();
    if (!wait && rb_agent.mode == RB_MODE_COLLIDE)
        return;
    if (wait)
        readable = read_value(touch.address, rb_breakpoint_piece(touch.address, touch.size), &value);
    if (wait && !readable)
        return;
    struct setting *s = arm_setting(me, &touch, place, context, wait);
    if (s && wait) {
        RB_COUNTED(delays);
        wait_armed(s, value, readable);
    }
}

bool rb_sample_int3(ucontext_t *context)
{
    const uintptr_t start = (uintptr_t)context->uc_mcontext.gregs[REG_RIP] - 1;
    struct rb_place place;

    if (!rb_site_find(start, &place))
        return false;
    uint8_t *state = &place.module->state[place.site], now = rb_load_acquire(state);
    if (now == RB_SITE_NEVER || place.module->original[place.site] == 0xcc)
        return false;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)start;
    if (rb_agent_is_filtered()) // the byte has been put back since
        return true;
    const bool set = now == RB_SITE_SET || now == RB_SITE_SLOW;
    if (set && rb_cas_strong_acq_rel(state, &now, RB_SITE_TAKEN)) {
        rb_site_restore(place.module, place.site);
        if (rb_agent_is_process())
            take_sample(&place, start, context, now == RB_SITE_SLOW);
        else
            RB_COUNTED(foreign);
        return true;
    }
    // The thread that took the byte puts it back, alone: only one thread may write the byte, or an int3
    // that is planted next could be left without its state. In a child of fork that thread does not exist.
    RB_COUNTED(rewound);
    if (!rb_agent_is_process())
        rb_site_restore(place.module, place.site);
    else
        syscall(SYS_sched_yield);
    return true;
}

// ---- the second access ---------------------------------------------------------------------------------

// Finds the instruction that has just ended, and its access to the watched bytes.
static bool find_second(uintptr_t pc, const ucontext_t *context, uintptr_t watched, unsigned bytes,
                        bool must_write, struct rb_place *place, struct rb_code_touch *touch)
{
    const struct rb_code_row *row;

    place->module = rb_code_module_at(pc);
    if (!place->module)
        place->module = rb_code_module_at(pc - 1);
    if (!place->module)
        return false;
    unsigned rows = rb_code_before(&place->module->table, (uint32_t)(pc - place->module->bias), &row);
    for (; must_write && rows && !(row->flags & RB_CODE_WRITE); row++)
        rows--;
    place->row = rb_code_touched(row, rows, place->module->bias, context, watched, bytes, touch);
    if (!place->row)
        return false;
    struct rb_place site;
    const uintptr_t start = place->module->bias + place->row->offset;
    place->site = rb_site_find(start, &site) && site.row == place->row ? site.site : UINT32_MAX;
    return true;
}

// Returns true for a form that compilers make of plain accesses alone (code_table_forms.def).
static bool is_plain(uint16_t flags)
{
    return flags && !(flags & (RB_CODE_MOVE | RB_CODE_LOCKED | RB_CODE_MASKED | RB_CODE_SPREAD));
}

static void judge_pair(struct setting *s, const struct rb_side *second, bool waits)
{
    struct rb_pair *p = rb_pair_new();

    if (!p)
        return;
    p->side[0] = *second;
    p->side[1] = s->first;
    if (!waits)
        p->verdict = RB_VERDICT_CLOCK;
    else if (rb_agent.no_atomics || is_plain(s->first.flags) || is_plain(second->flags))
        p->verdict = RB_VERDICT_CONFIRMED;
    else
        p->verdict = RB_VERDICT_MOVES;
    rb_pair_found(p);
}

static void give_up(struct setting *s, uint32_t state)
{
    if (change_state(s, state, CAUGHT)) {
        clear_setting(s);
        free_setting(s);
    }
}

void rb_sample_hit(const struct rb_breakpoint_hit *hit, ucontext_t *context)
{
    struct setting *s = &settings[hit->number];
    struct rb_watched *me = rb_agent_me;
    struct rb_place place = {NULL, UINT32_MAX, NULL, 0};
    struct rb_code_touch touch;
    static RB_TLS struct rb_side second; // the stack may be small

    if (rb_agent_is_filtered() || !rb_agent_is_process())
        return;
    RB_COUNTED(hits);
    const uint32_t number = rb_load_acquire(&s->number);
    const uint32_t state = rb_load_acquire(&s->state);
    const struct rb_watched *owner = s->owner;
    const uint64_t clock = s->clock;
    const uintptr_t address = s->address;
    const unsigned bytes = s->bytes;
    const bool must_write = !s->first.writes, both_locked = (s->first.flags & RB_CODE_LOCKED) != 0;
    if (state != CLOCK && state != WAITS) {
        RB_COUNTED(late);
        if (state == FREE && rb_load_acquire(&s->state) == FREE)
            clear_setting(s);
        return;
    }
    const uint64_t now = rb_load_acquire(&owner->clock);
    rb_fence_seq_cst();
    if (hit->late || hit->address != address || (number & 1) || rb_load_relaxed(&s->number) != number) {
        RB_COUNTED(late);
        return;
    }
    if (me == owner) {
        RB_COUNTED(own);
        if (rb_add_fetch_relaxed(&s->own, 1) >= MOST_OWN)
            give_up(s, state);
        return;
    }
    if (state == CLOCK && now != clock) {
        RB_COUNTED(ordered);
        give_up(s, state);
        return;
    }
    if (!me || me->os_id != (int32_t)syscall(SYS_gettid) ||
        !find_second((uintptr_t)context->uc_mcontext.gregs[REG_RIP], context, address, bytes, must_write,
                     &place, &touch) ||
        (both_locked && (place.row->flags & RB_CODE_LOCKED))) {
        RB_COUNTED(elsewhere);
        if (rb_add_fetch_relaxed(&s->own, 1) >= MOST_OWN)
            give_up(s, state);
        return;
    }
    describe_side(&second, me, &touch, &place, context);
    if (!change_state(s, state, CAUGHT))
        return;
    if (rb_load_acquire(&s->number) == number)
        judge_pair(s, &second, state == WAITS);
    clear_setting(s);
    free_setting(s);
}

// ---- the agent's thread --------------------------------------------------------------------------------

uint64_t rb_samples_wait(uint64_t most_ns, bool *set)
{
    const uint64_t now = rb_arch_ticks();

    *set = false;
    for (uint32_t i = 0; i < rb_breakpoints.count; i++) {
        struct setting *s = &settings[i];
        const uint32_t state = rb_load_acquire(&s->state);
        *set |= state != FREE;
        if (state != CLOCK)
            continue;
        const uint64_t until = s->until, ns = until > now ? rb_agent_ns(until - now) + 1 : 0;
        if (ns) {
            most_ns = ns < most_ns ? ns : most_ns;
        } else if (change_state(s, CLOCK, CAUGHT)) {
            RB_COUNTED(expired);
            clear_setting(s);
            free_setting(s);
        }
    }
    return most_ns;
}

void rb_samples_after_fork(void)
{
    arm_lock = 0;
    for (uint32_t i = 0; i < RB_BREAKPOINTS; i++) {
        settings[i].state = FREE;
        settings[i].number = (settings[i].number + 1) & ~1u;
    }
}

// Owners that wait continue; nothing is set after this, because rb_agent_on is false.
void rb_samples_stop(void)
{
    for (uint32_t i = 0; i < rb_breakpoints.count; i++) {
        give_up(&settings[i], CLOCK);
        give_up(&settings[i], WAITS);
    }
}
