// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/record/merge_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EXCLUSIVE 1024u // number of threads that have numbers of their own

static bool grow_array(void *array, uint64_t *room, uint64_t needed, size_t size)
{
    uint64_t n = *room ? *room : 64;
    char *bigger;

    if (needed <= *room)
        return true;
    while (n < needed)
        n *= 2;
    bigger = realloc(*(void **)array, n * size);
    if (!bigger)
        return false;
    memset(bigger + *room * size, 0, (n - *room) * size);
    *(void **)array = bigger;
    *room = n;
    return true;
}

int rb_out_open(struct rb_out *o, const struct rb_raw *raw, const char *path,
                const struct rb_merge_names *names, struct rb_merge_notes *notes, struct rb_error *e)
{
    const struct rb_writer_hint hint = {.threads = raw->threads};

    *o = (struct rb_out){.raw = raw, .names = names, .notes = notes, .error = e};
    o->writer.fd = -1;
    rb_memory_init(&o->memory);
    o->number = calloc(RB_MAX_THREADS, sizeof(*o->number));
    if (!o->number)
        return rb_internal(e, "out of memory");
    return rb_writer_open(&o->writer, path, -1, &hint, e);
}

// ---- threads -------------------------------------------------------------------------------------------

uint32_t rb_out_thread(struct rb_out *o, uint32_t id)
{
    const uint32_t t = rb_id_map_get(&o->thread_of, id);
    uint64_t room = o->thread_room;

    if (t == UINT32_MAX || t < o->threads)
        return t;
    if (!grow_array(&o->thread, &room, (uint64_t)t + 1, sizeof(*o->thread)))
        return UINT32_MAX;
    o->thread_room = (uint32_t)room;
    o->thread[o->threads++] = (struct rb_out_thread){.id = id};
    return t;
}

static void add_idle(struct rb_out *o, struct rb_out_idles *list, uint32_t n)
{
    if (!grow_array(&list->entry, &list->room, list->count + 1, sizeof(*list->entry)))
        o->out_of_memory = true;
    else
        list->entry[list->count++] = (struct rb_out_idle){n, o->number[n].uses};
}

// Returns a number of the list that is still free; UINT32_MAX if there is none.
static uint32_t take_idle(struct rb_out *o, struct rb_out_idles *list)
{
    while (list->first < list->count) {
        const struct rb_out_idle i = list->entry[list->first++];
        if (o->number[i.number].idle && o->number[i.number].uses == i.uses) {
            o->number[i.number].uses++;
            o->number[i.number].idle = false;
            return i.number;
        }
    }
    list->first = list->count = 0;
    return UINT32_MAX;
}

// Returns the thread's number in the trace. `creator` is the thread that forks it, or UINT32_MAX.
//
// Clocks grow with the highest number, so threads share numbers. Beyond EXCLUSIVE a new thread continues
// under the number of one that its creator has joined. All events of the joined thread are ordered before
// those of the new one anyway, so the trace means the same. Only if there are more threads than a trace
// holds does it take the number of any ended thread, which orders the two: that may hide a race and invents
// none.
static uint32_t number_of(struct rb_out *o, uint32_t t, uint32_t creator)
{
    struct rb_out_thread *thread = &o->thread[t];
    uint32_t n = UINT32_MAX;

    if (thread->number)
        return thread->number - 1;
    if (o->numbers >= EXCLUSIVE && creator != UINT32_MAX)
        n = take_idle(o, &o->thread[creator].joined);
    if (n == UINT32_MAX && o->numbers < RB_MAX_THREADS) {
        n = o->numbers++;
        o->number[n].owner = t;
    }
    if (n == UINT32_MAX) {
        n = take_idle(o, &o->idle);
        o->notes->reused += n != UINT32_MAX;
    }
    if (n == UINT32_MAX) {
        rb_bad_input(o->error, "%s: more than %u threads at once, the most a trace may hold", o->raw->path,
                     RB_MAX_THREADS);
        n = 0;
    }
    thread->number = n + 1;
    thread->use = o->number[n].uses;
    return n;
}

void rb_out_thread_done(struct rb_out *o, uint32_t t)
{
    struct rb_out_thread *thread = &o->thread[t];

    free(thread->open);
    free(thread->joined.entry);
    thread->open = NULL;
    thread->joined = (struct rb_out_idles){0};
    thread->depth = thread->room = 0;
    if (!thread->number)
        return;
    o->number[thread->number - 1].idle = true;
    add_idle(o, &o->idle, thread->number - 1);
}

// ---- events --------------------------------------------------------------------------------------------

static void put_event(struct rb_out *o, enum rb_op op, uint32_t thread, uint64_t target, uint32_t location,
                      bool outermost)
{
    const struct rb_event event = {.op = op, .thread = thread, .target = target, .location = location};

    o->number[thread].used = true;
    rb_writer_put(&o->writer, &event, outermost);
}

// Returns a dense number for a place in the code; `places` has those known so far.
static uint32_t intern_place(struct rb_out *o, struct rb_id_map *map, uint64_t **places, uint64_t *room,
                             uint64_t place)
{
    const uint32_t n = rb_id_map_get(map, place);

    if (n == UINT32_MAX || !grow_array(places, room, (uint64_t)n + 1, sizeof(**places))) {
        o->out_of_memory = true;
        return 0;
    }
    (*places)[n] = place;
    return n;
}

static uint32_t location_of_place(struct rb_out *o, uint64_t place)
{
    return 1 + intern_place(o, &o->location_of, &o->place, &o->place_room, place); // 0 is "unknown"
}

struct emit {
    struct rb_out *o;
    uint32_t thread, location;
    enum rb_op op;
};

static void emit_variable(void *context, uint32_t variable)
{
    const struct emit *e = context;

    put_event(e->o, e->op, e->thread, variable, e->location, false);
}

static void put_access(struct rb_out *o, uint32_t t, const struct rb_raw_event *event)
{
    const bool atomic = event->op >= RB_RAW_ATOMIC_READ;
    struct emit e = {o, number_of(o, t, UINT32_MAX), location_of_place(o, event->value),
                     (enum rb_op)(event->op & 1)};

    o->notes->recorded++;
    if (!rb_memory_touch(&o->memory, event->address, event->size, t, atomic, event->generation, emit_variable,
                         &e))
        o->out_of_memory = true;
}

// Returns the lock that the object at the address is now.
static uint64_t lock_at(struct rb_out *o, uint64_t address)
{
    const uint32_t object = rb_id_map_get(&o->object_of, address);

    if (object == UINT32_MAX ||
        !grow_array(&o->lock_of, &o->object_room, (uint64_t)object + 1, sizeof(*o->lock_of)) ||
        !grow_array(&o->lock, &o->lock_room, o->locks + 1, sizeof(*o->lock)) || o->locks == UINT32_MAX) {
        o->out_of_memory = true;
        return 0;
    }
    if (!o->lock_of[object]) {
        o->lock[o->locks] = (struct rb_out_lock){.address = address};
        o->lock_of[object] = (uint32_t)++o->locks;
    }
    return o->lock_of[object] - 1;
}

static void object_gone(struct rb_out *o, uint64_t address)
{
    const uint32_t object = rb_id_map_get(&o->object_of, address);

    if (object == UINT32_MAX ||
        !grow_array(&o->lock_of, &o->object_room, (uint64_t)object + 1, sizeof(*o->lock_of)))
        o->out_of_memory = true;
    else
        o->lock_of[object] = 0;
}

// Releases a lock that another thread takes now on behalf of its holder, which adds an ordering. Only for
// locks that are also read-locked: a wait would do for others, but ignores read-unlocks.
static void take_away(struct rb_out *o, uint64_t lock)
{
    struct rb_lock_state *held = &o->lock[lock].held;
    const uint32_t owner = held->owner - 1;

    while (held->owner)
        put_event(o, RB_RELEASE, owner, lock, 0, rb_lock_apply(held, RB_RELEASE, owner) == RB_LOCK_OUTER);
}

// Writes events of locks of all kinds so that the trace keeps the discipline of docs/reference/trace-format.md,
// section 7.
static void put_lock(struct rb_out *o, uint32_t n, enum rb_op op, uint64_t lock)
{
    struct rb_out_lock *l = &o->lock[lock];
    enum rb_lock_verdict verdict;

    if (op == RB_ACQUIRE && l->held.owner && l->held.owner != n + 1) {
        o->notes->overlapping++;
        if (!l->read) {
            put_event(o, RB_WAIT, n, lock, 0, false);
            return;
        }
        take_away(o, lock);
    }
    if (op == RB_ACQUIRE || op == RB_RELEASE)
        verdict = rb_lock_apply(&l->held, op, n);
    else
        verdict = rb_lock_table_apply(&o->readers, op, n, lock);
    if (verdict >= RB_LOCK_NOT_HELD) {
        o->notes->unmatched++;
        op = RB_POST;
    }
    l->read |= op == RB_RD_REL;
    put_event(o, op, n, lock, 0, verdict == RB_LOCK_OUTER);
}

// Writes the entry or exit of a function. An exit leaves the innermost function that was entered.
static void put_function(struct rb_out *o, uint32_t t, const struct rb_raw_event *event)
{
    struct rb_out_thread *thread = &o->thread[t];
    uint64_t room = thread->room;

    if (event->op == RB_EXIT) {
        if (thread->depth) // else it was entered before the recording began
            put_event(o, RB_EXIT, number_of(o, t, UINT32_MAX), thread->open[--thread->depth], 0, false);
        return;
    }
    if (thread->depth == UINT32_MAX / 2 ||
        !grow_array(&thread->open, &room, (uint64_t)thread->depth + 1, sizeof(*thread->open))) {
        o->out_of_memory = true;
        return;
    }
    thread->room = (uint32_t)room;
    const uint32_t f = intern_place(o, &o->function_of, &o->function, &o->function_room, event->value);
    thread->open[thread->depth++] = f;
    put_event(o, RB_ENTER, number_of(o, t, UINT32_MAX), f, location_of_place(o, event->value), false);
}

static void put_thread(struct rb_out *o, uint32_t t, const struct rb_raw_event *event)
{
    const uint32_t other = rb_out_thread(o, (uint32_t)event->address);

    if (other == UINT32_MAX) {
        o->out_of_memory = true;
        return;
    }
    const uint32_t me = number_of(o, t, UINT32_MAX),
                   n = number_of(o, other, event->op == RB_FORK ? t : UINT32_MAX);
    o->number[n].used |= event->op == RB_FORK;
    put_event(o, (enum rb_op)event->op, me, n, 0, false);
    if (event->op == RB_JOIN && o->number[n].uses == o->thread[other].use)
        add_idle(o, &o->thread[t].joined, n);
}

void rb_out_event(struct rb_out *o, uint32_t t, const struct rb_raw_event *event,
                  const struct rb_raw_event *access)
{
    const enum rb_op op = (enum rb_op)event->op;

    if (access && event->op == RB_RMW && rb_memory_mixed(&o->memory, access->address, access->size))
        put_event(o, RB_LOAD, number_of(o, t, UINT32_MAX), lock_at(o, event->address), 0, false);
    if (access && event->op != RB_LOAD)
        put_access(o, t, access);
    if (rb_raw_is_access(event->op))
        put_access(o, t, event);
    else if (op >= RB_ACQUIRE && op <= RB_RD_REL)
        put_lock(o, number_of(o, t, UINT32_MAX), op, lock_at(o, event->address));
    else if (op > RB_RD_REL && op < RB_FORK)
        put_event(o, op, number_of(o, t, UINT32_MAX), lock_at(o, event->address), 0, false);
    else if (op == RB_FORK || op == RB_JOIN)
        put_thread(o, t, event);
    else if (op == RB_ENTER || op == RB_EXIT)
        put_function(o, t, event);
    else if (event->op == RB_RAW_GONE)
        object_gone(o, event->address);
    else if (event->op == RB_RAW_FORGET)
        rb_memory_forget(&o->memory, event->address, event->size);
    if (access && event->op == RB_LOAD)
        put_access(o, t, access);
}

// ---- names ---------------------------------------------------------------------------------------------

// Names in the form of a trace's table.
struct table {
    unsigned char *bytes;
    uint64_t used, room;
};

static bool add_name(struct table *t, const char *name)
{
    size_t n = strlen(name), left = n;

    if (!grow_array(&t->bytes, &t->room, t->used + n + 10, 1))
        return false;
    do {
        t->bytes[t->used++] = (unsigned char)((left & 127) | (left > 127 ? 128 : 0));
    } while (left >>= 7);
    memcpy(t->bytes + t->used, name, n);
    t->used += n;
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

// Writes the known parts of "function file:line (module+0xoffset)".
static void name_code(const struct rb_out *o, uint64_t place, bool function, char *name, size_t room)
{
    uint64_t offset;
    const struct rb_raw_module *m = rb_raw_place(o->raw, place, &offset);
    char known[512] = "";

    if (m && m->path[0] && o->names) {
        if (function ? o->names->function(o->names->context, m, offset, known, sizeof(known))
                     : o->names->code(o->names->context, m, offset, known, sizeof(known)))
            snprintf(name, room, "%s (%.255s+0x%" PRIx64 ")", known, base_name(m->path), offset);
        else
            snprintf(name, room, "%.255s+0x%" PRIx64, base_name(m->path), offset);
    } else if (m && m->path[0]) {
        snprintf(name, room, "%.255s+0x%" PRIx64, base_name(m->path), offset);
    } else {
        snprintf(name, room, "0x%" PRIx64, (m ? m->bias : 0) + offset);
    }
}

static void name_data(const struct rb_out *o, uint64_t address, char *name, size_t room)
{
    for (uint32_t i = 0; i < o->raw->modules; i++) {
        const struct rb_raw_module *m = &o->raw->module[i];
        if (m->path[0] && o->names && address >= m->from && address < m->to &&
            o->names->data(o->names->context, m, address - m->bias, name, room))
            return;
    }
    if (address & RB_RAW_MADE_UP)
        snprintf(name, room, "runtime+0x%" PRIx64, address & ~RB_RAW_MADE_UP);
    else
        snprintf(name, room, "0x%" PRIx64, address);
}

static void name_entry(const struct rb_out *o, enum rbt_table which, uint64_t i, char *name, size_t room)
{
    const struct rb_memory_name *v = which == RBT_VARIABLES ? &o->memory.name[i] : NULL;
    size_t used;

    switch (which) {
    case RBT_THREADS:
        snprintf(name, room, "T%" PRIu32, o->thread[o->number[i].owner].id);
        return;
    case RBT_LOCKS:
        name_data(o, o->lock[i].address, name, room);
        return;
    case RBT_VARIABLES:
        name_data(o, v->address, name, room);
        used = strlen(name);
        if (v->thread)
            snprintf(name + used, room - used, " (atomics of T%" PRIu32 ")", o->thread[v->thread - 1].id);
        return;
    case RBT_LOCATIONS:
        if (i == 0)
            snprintf(name, room, "?");
        else
            name_code(o, o->place[i - 1], false, name, room);
        return;
    default:
        name_code(o, o->function[i], true, name, room);
        return;
    }
}

static void write_names(struct rb_out *o, enum rbt_table which, uint64_t count)
{
    struct table t = {0};
    char name[1024];

    if (count + 1 < RB_MEMORY_NAMED)
        for (uint64_t i = 0; i < count && !o->out_of_memory; i++) {
            name_entry(o, which, i, name, sizeof(name));
            o->out_of_memory = !add_name(&t, name);
        }
    rb_writer_table(&o->writer, which, count, t.bytes, t.used);
    free(t.bytes);
}

int rb_out_finish(struct rb_out *o)
{
    uint64_t run = 0;

    write_names(o, RBT_THREADS, o->numbers);
    write_names(o, RBT_LOCKS, o->locks);
    write_names(o, RBT_VARIABLES, o->memory.next - 1);
    write_names(o, RBT_LOCATIONS, 1 + (uint64_t)o->location_of.count);
    write_names(o, RBT_FUNCTIONS, o->function_of.count);
    if (o->out_of_memory || o->readers.out_of_memory)
        return rb_internal(o->error, "%s: out of memory for the names of the recording", o->raw->path);
    if (o->error->fault != RB_FAULT_NONE)
        return -1;
    for (uint32_t n = 0; n < o->numbers; n++)
        run += o->number[n].used;
    o->notes->threads = run;
    const int status = rb_writer_finish(&o->writer, run, 0);
    o->notes->events = o->writer.header.events;
    o->notes->accesses = o->writer.header.accesses;
    return status;
}

void rb_out_close(struct rb_out *o)
{
    rb_writer_abandon(&o->writer);
    rb_memory_free(&o->memory);
    for (uint32_t t = 0; t < o->threads; t++)
        rb_out_thread_done(o, t);
    free(o->thread);
    free(o->idle.entry);
    free(o->number);
    rb_id_map_free(&o->thread_of);
    rb_id_map_free(&o->object_of);
    rb_id_map_free(&o->location_of);
    rb_id_map_free(&o->function_of);
    free(o->lock_of);
    free(o->lock);
    free(o->place);
    free(o->function);
    rb_lock_table_free(&o->readers);
}
