// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread writes its own records into its own chunk, without asking any other thread. Threads share only
// the counters that numbered events take their turn from. There are many, chosen by a hash of the object,
// so that unrelated objects rarely meet (LiteRace, section 4.2). The clock is read before the number is
// taken, and the number before the record is written: a record's clock is never later than its event.
//
// `used` grows after the record is complete. A program killed at any instant leaves complete records; of
// each thread at most the one being written is missing.
#include "run/record/record.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inproc/modules.h"
#include "inproc/text_buffer.h"
#include "inproc/tool.h"
#include "run/core/race_event.h"
#include "run/core/upcalls.h"

#define NEEDED 6u  // most records of one event: a TICK and a GENERATION before it, an EXTENT behind
#define SPARE  32u // a chunk with less room is left early where no lock is held
#define RECENT 4u

bool rb_recording;

static struct {
    uint64_t next;
} __attribute__((aligned(64))) counters[RB_RAW_COUNTERS];

// A part of the address space with code: a file's, or 64 GiB without a file.
struct module {
    uintptr_t from, to, bias;
    uint64_t name; // hash of the path
};

static rb_spin modules_lock;
static struct module modules[RB_RAW_MODULES]; // by index, from 1
static uint32_t module_count = 1;

struct recent {
    uintptr_t from, to, bias;
    uint64_t index;
};

// A thread's buffer. Written by the thread itself.
struct rb_record {
    struct rb_raw_chunk *chunk;
    uint64_t *at, *end; // next record, end of the chunk
    uint64_t clock;     // of the last record
    uint32_t generation, sequence;
    uint32_t victim; // of `recent`
    struct recent recent[RECENT];
    uint64_t
        *last[2]; // records of the accesses that one call of a hook announced last, newest first; NULL: none
    uint64_t *last_end; // behind them
    uint64_t last_place;
};

// ---- start, end ----------------------------------------------------------------------------------------

static void say_unrecorded(const char *path, int problem)
{
    char text[512];
    struct rb_text t;

    rb_text_init(&t, text, sizeof(text) - 1);
    rb_put(&t, "Railbird: record=");
    rb_put(&t, path);
    if (problem == -EBUSY) {
        rb_put(&t, ": another process records there");
    } else if (problem == -EINVAL) {
        rb_put(&t, ": exists and is no raw recording");
    } else {
        rb_put(&t, ": cannot be made (errno ");
        rb_put_number(&t, (uint64_t)-problem);
        rb_put(&t, ")");
    }
    rb_put(&t, "; this process is not recorded");
    t.end++;
    rb_put_char(&t, '\n');
    rb_write_all(2, text, (size_t)(t.at - text));
}

static void copy_text(char *to, size_t room, const char *from)
{
    size_t i = 0;

    for (; i + 1 < room && from[i]; i++)
        to[i] = from[i];
    to[i] = 0;
}

int rb_record_start(const char *path)
{
    const int saved = errno;
    const int status = rb_record_file_open(path);

    if (status == 0) {
        copy_text(rb_record_header->sampler, sizeof(rb_record_header->sampler), rb_options.sampler);
        if (rb_record_header->flags & RB_RAW_FUNCTIONS)
            rb_functions_wanted = true;
        rb_store_release(&rb_recording, true);
    } else if (status != -EALREADY) {
        say_unrecorded(path, status);
    }
    errno = saved;
    return status;
}

void rb_record_finish(void)
{
    if (rb_records())
        rb_store_release(&rb_record_header->state, RB_RAW_ENDED);
}

void rb_record_stop_after_fork(void)
{
    if (!rb_records())
        return;
    rb_recording = false;
    rb_fetch_add_relaxed(&rb_record_header->others, 1);
}

static RB_NOINLINE void stop_recording(int problem)
{
    uint32_t none = 0;

    rb_store_release(&rb_recording, false);
    rb_cas_strong_relaxed(&rb_record_header->stopped, &none, (uint32_t)problem);
}

// ---- places --------------------------------------------------------------------------------------------

// Writes a chunk that describes a new module. Returns false if the recording has stopped.
static bool write_module(const struct module *m, uint32_t index, const char *name, const char *build_id)
{
    int problem;
    struct rb_raw_chunk *chunk = rb_record_chunk(RB_RAW_MODULE, RB_RAW_UNIT, &problem);

    if (!chunk) {
        stop_recording(problem);
        return false;
    }
    struct rb_raw_module *raw = (struct rb_raw_module *)(chunk + 1);
    raw->bias = m->bias;
    raw->from = m->from;
    raw->to = m->to;
    raw->index = index;
    copy_text(raw->build_id, sizeof(raw->build_id), build_id);
    copy_text(raw->path, sizeof(raw->path), name);
    chunk->used = 1;
    rb_store_release(&chunk->magic, RB_RAW_CHUNK_MAGIC);
    rb_record_unmap(chunk);
    return true;
}

static uint64_t hash_text(const char *s)
{
    uint64_t h = 0;

    for (; *s; s++)
        h = (h + (unsigned char)*s) * RB_GOLDEN;
    return h;
}

// Returns the module that holds the code at `pc`, and its number; 0 if there are too many.
static RB_NOINLINE struct recent find_module(uintptr_t pc)
{
    const uintptr_t span = (uintptr_t)1 << RB_RAW_OFFSET_BITS;
    struct rb_module file = {.path = ""};
    struct module m = {pc & ~(span - 1), (pc & ~(span - 1)) + span, pc & ~(span - 1), 0};
    struct recent r;
    uint32_t i = 1;

    if (rb_module_of(pc, &file) && pc - file.bias < span) {
        m = (struct module){file.from, file.to, file.bias, hash_text(file.path)};
    } else {
        file.path = "";
        file.build_id[0] = 0;
    }
    rb_spin_lock(&modules_lock);
    while (i < module_count && (modules[i].from != m.from || modules[i].to != m.to ||
                                modules[i].bias != m.bias || modules[i].name != m.name))
        i++;
    if (i == module_count) {
        if (i < RB_RAW_MODULES && write_module(&m, i, file.path, file.build_id))
            modules[module_count++] = m;
        else
            i = 0;
    }
    rb_spin_unlock(&modules_lock);
    r = (struct recent){m.from, m.to, m.bias, i};
    return r;
}

static uint64_t place_of(struct rb_record *r, uintptr_t pc)
{
    const struct recent *m = NULL;

    for (unsigned i = 0; i < RECENT && !m; i++)
        if (pc >= r->recent[i].from && pc < r->recent[i].to)
            m = &r->recent[i];
    if (RB_UNLIKELY(!m)) {
        r->recent[r->victim % RECENT] = find_module(pc);
        m = &r->recent[r->victim++ % RECENT];
    }
    return m->index << RB_RAW_OFFSET_BITS | ((pc - m->bias) & (((uint64_t)1 << RB_RAW_OFFSET_BITS) - 1));
}

// ---- records -------------------------------------------------------------------------------------------

static inline void put_record(struct rb_record *r, uint64_t word0, uint64_t word1)
{
    r->at[0] = word0;
    r->at[1] = word1;
    r->at += 2;
}

// Makes the records put so far part of the recording.
static inline void publish_records(struct rb_record *r)
{
    const uint64_t *first = (const uint64_t *)(r->chunk + 1);

    rb_store_release(&r->chunk->used, (uint32_t)((r->at - first) / 2));
}

// Begins a new chunk. The first chunk of a thread is a page, the later ones double up to 64 KiB: in
// programs with very many threads most write little.
static RB_NOINLINE bool begin_chunk(struct rb_self *me, struct rb_record *r)
{
    struct rb_raw_chunk *old = r->chunk;
    const uint32_t bytes = !old ? RB_RAW_UNIT : old->bytes < RB_RAW_MOST ? 2 * old->bytes : RB_RAW_MOST;
    int problem;
    struct rb_raw_chunk *chunk = rb_record_chunk(RB_RAW_EVENTS, bytes, &problem);

    if (!chunk) {
        stop_recording(problem);
        return false;
    }
    chunk->thread = me->id;
    chunk->os_id = me->os_id;
    chunk->sequence = r->sequence++;
    rb_store_release(&chunk->magic, RB_RAW_CHUNK_MAGIC);
    r->chunk = chunk;
    r->at = (uint64_t *)(chunk + 1);
    r->last[0] = r->last_end = NULL;
    r->end = (uint64_t *)(void *)((char *)chunk + bytes);
    if (old)
        rb_record_unmap(old);
    return true;
}

static RB_NOINLINE struct rb_record *make_record(struct rb_self *me)
{
    struct rb_record *r = rb_arena_zalloc(&rb_process.arena, sizeof(*r));

    if (!r) {
        stop_recording(ENOMEM);
        return NULL;
    }
    if (!begin_chunk(me, r)) {
        rb_arena_free(&rb_process.arena, r, sizeof(*r));
        return NULL;
    }
    me->record = r;
    return r;
}

static inline uint64_t read_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) >> RB_RAW_CLOCK_SHIFT;
}

// Makes room for one event with all its records, and writes its clock. Returns NULL if there is no
// recording any more. With little room left a new chunk is begun early: most calls here hold no lock, but
// synchronisation may.
static struct rb_record *begin_event(struct rb_self *me, unsigned room)
{
    struct rb_record *r = me->record;

    if (RB_UNLIKELY(!r) && !(r = make_record(me)))
        return NULL;
    if (RB_UNLIKELY((size_t)(r->end - r->at) < 2 * room) && !begin_chunk(me, r))
        return NULL;
    uint64_t t = read_clock();
    if (t < r->clock)
        t = r->clock;
    if (RB_UNLIKELY(t >> RB_RAW_CLOCK_BITS != r->clock >> RB_RAW_CLOCK_BITS ||
                    r->at == (uint64_t *)(r->chunk + 1)))
        put_record(r, rb_raw_word0(RB_RAW_TICK, 0, 0), rb_raw_word1(0, t >> RB_RAW_CLOCK_BITS));
    r->clock = t;
    return r;
}

// Puts the record of a range: its size in it, or behind it.
static inline void put_range(struct rb_record *r, unsigned op, uintptr_t from, size_t bytes, uint64_t value)
{
    const bool fits = bytes < RB_RAW_SIZES;

    put_record(r, rb_raw_word0(op, fits ? bytes : 0, from), rb_raw_word1(r->clock, value));
    if (RB_UNLIKELY(!fits))
        put_record(r, rb_raw_word0(RB_RAW_EXTENT, 0, 0), rb_raw_word1(r->clock, bytes));
}

static uint64_t take_number(unsigned op, uint64_t address)
{
    return rb_fetch_add_acq_rel(&counters[rb_raw_counter_of(op, address)].next, 1);
}

// Returns an address in 48 bits. User space has 47; the runtime's made-up ones (descriptors) lie right
// above 2^54.
static inline uint64_t fold_address(uintptr_t address)
{
    return RB_LIKELY(address < RB_RAW_MADE_UP) ? address : RB_RAW_MADE_UP | (address & (RB_RAW_MADE_UP - 1));
}

// Returns true if [from, from + bytes) lies in one of these two, so that no two places become one. Objects
// may share a folded address: that adds an edge too many.
static bool is_known(uintptr_t from, size_t bytes)
{
    const uintptr_t part = from / RB_RAW_MADE_UP;

    return (part == 0 || part == ((uintptr_t)1 << 54) / RB_RAW_MADE_UP) &&
           bytes <= RB_RAW_MADE_UP - (from & (RB_RAW_MADE_UP - 1));
}

void rb_record_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc)
{
    const unsigned op = (t->atomic ? RB_RAW_ATOMIC_READ : RB_READ) + t->write;
    struct rb_record *r = me->record;
    const uint64_t *before = r ? r->at : NULL;

    if (!t->record || !is_known(t->address, t->size) || rb_is_benign(t->address) ||
        !(r = begin_event(me, SPARE)))
        return;
    const uint32_t generation = rb_load_acquire(&rb_process.generation);
    if (RB_UNLIKELY(generation != r->generation)) {
        r->generation = generation;
        for (unsigned i = 0; i < RECENT; i++) // a library may have been replaced by another at its place
            r->recent[i] = (struct recent){0, 0, 0, 0};
        put_record(r, rb_raw_word0(RB_RAW_GENERATION, 0, 0), rb_raw_word1(r->clock, generation));
    }
    const uint64_t place = place_of(r, pc);
    const bool continues = before && before == r->last_end && place == r->last_place;
    r->last[1] = continues ? r->last[0] : NULL;
    r->last[0] = r->at;
    r->last_place = place;
    put_range(r, op, fold_address(t->address), t->size, place);
    r->last_end = r->at;
    publish_records(r);
}

// ---- accesses that have not happened after all ---------------------------------------------------------

static size_t record_bytes(const uint64_t *record)
{
    const size_t bytes = record[0] >> RB_RAW_ADDRESS_BITS & (RB_RAW_SIZES - 1);

    return bytes ? bytes : record[3] & RB_RAW_LOW48;
}

static bool record_touches(const uint64_t *record, uint64_t address)
{
    return record && address - (record[0] & RB_RAW_LOW48) < record_bytes(record);
}

void rb_record_undo(struct rb_self *me, uintptr_t address, struct rb_undone *undone)
{
    struct rb_record *r = me->record;
    unsigned n = 0;

    if (!r || !r->last[0] || r->at != r->last_end)
        return;
    address = fold_address(address);
    while (n < 2 && !record_touches(r->last[n], address))
        n++;
    if (n == 2)
        return;
    for (unsigned i = 0; i <= n; i++) {
        const uint64_t *record = r->last[n - i];
        const bool fits = record[0] >> RB_RAW_ADDRESS_BITS & (RB_RAW_SIZES - 1);
        undone->access[i].word0 = record[0];
        undone->access[i].place = record[1] & RB_RAW_LOW48;
        undone->access[i].bytes = fits ? 0 : record_bytes(record);
    }
    undone->count = n + 1;
    r->at = r->last[n];
    publish_records(r);
    r->last[0] = r->last[1] = r->last_end = NULL;
    r->clock = 0; // a TICK or a GENERATION between the two went with them
    r->generation = 0;
}

void rb_record_redo(struct rb_self *me, const struct rb_undone *undone)
{
    struct rb_record *r = begin_event(me, SPARE);

    if (!r)
        return;
    for (unsigned i = 0; i < undone->count; i++) {
        put_record(r, undone->access[i].word0, rb_raw_word1(r->clock, undone->access[i].place));
        if (undone->access[i].bytes)
            put_record(r, rb_raw_word0(RB_RAW_EXTENT, 0, 0), rb_raw_word1(r->clock, undone->access[i].bytes));
    }
    publish_records(r);
}

void rb_record_function(enum rb_op op, uintptr_t pc)
{
    struct rb_self *me = rb_records() ? rb_enter() : NULL;
    struct rb_record *r;

    if (!me)
        return;
    if ((r = begin_event(me, SPARE)) != NULL) {
        put_record(r, rb_raw_word0(op, 0, 0), rb_raw_word1(r->clock, op == RB_ENTER ? place_of(r, pc) : 0));
        publish_records(r);
    }
    rb_leave(me);
}

void rb_record_own(struct rb_self *me, enum rb_raw_op op, uint64_t address, size_t bytes)
{
    struct rb_record *r;

    if ((bytes && !is_known(address, bytes)) || !(r = begin_event(me, NEEDED)))
        return;
    address = fold_address(address);
    put_range(r, op, address, bytes, rb_raw_is_numbered(op) ? take_number(op, address) : 0);
    publish_records(r);
}

void rb_record_event(struct rb_self *me, enum rb_op op, uint64_t target, uintptr_t pc)
{
    struct rb_record *r;

    (void)pc;
    if (op == RB_MARK) {
        rb_record_own(me, RB_RAW_END, 0, 0);
        rb_record_free(me);
        return;
    }
    if (!(r = begin_event(me, NEEDED)))
        return;
    target = fold_address(target);
    put_record(r, rb_raw_word0(op, 0, target),
               rb_raw_word1(r->clock, rb_raw_is_numbered(op) ? take_number(op, target) : 0));
    publish_records(r);
}

void rb_record_free(struct rb_self *t)
{
    struct rb_record *r = t->record;

    if (!r)
        return;
    t->record = NULL;
    rb_record_unmap(r->chunk);
    rb_arena_free(&rb_process.arena, r, sizeof(*r));
}
