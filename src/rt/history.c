#include "rt/history.h"

#include <errno.h>
#include <sys/mman.h>

#include "rt/footprint.h"
#include "rt/record.h"

#define ENTRIES    10u
#define LINE_SHIFT 5 // a bucket holds the cells of 32 bytes of memory
#define PAGE_SHIFT 12
#define PAGES      (1u << 15)
#define AREA_SHIFT 21 // an area's pages have their counters together
#define ATOMIC     ((uint64_t)1 << 60)

struct entry {
    uint64_t key;        // 0: free
    uint32_t generation; // older than rb_process.generation: forgotten
    uint32_t used;       // the bucket's tick when it last was
};

// Entries together in front: a look for a key that is not there touches three cache lines, not eight.
struct bucket {
    rb_spin lock;
    uint32_t tick;
    struct entry entry[ENTRIES];
    uint64_t unused[3];
    struct rb_cell cell[ENTRIES]; // of entry i
} __attribute__((aligned(512)));
_Static_assert(sizeof(struct bucket) == 512, "eight cache lines");

static inline struct rb_cell *cell_of(struct entry *e)
{
    struct bucket *b = (struct bucket *)((uintptr_t)e & ~(uintptr_t)511);

    return &b->cell[e - b->entry];
}

static struct bucket *buckets;
static uint64_t bucket_mask;
static uint64_t *lines; // of memory that may have entries in a bucket: a bit for each, hashed; close
                        // together, as whole pages are asked about
static uint32_t *pages; // PAGES counters

// Areas of 2 MiB that ever had an entry: a bit for each, hashed. Most of a new thread's stack lies in others.
static uint64_t areas[64];

// The key of an entry: granule number, the bytes of it, and whether atomically.
static inline uint64_t make_key(uintptr_t granule, unsigned mask, bool atomic)
{
    return (uint64_t)granule << 8 | mask | (atomic ? ATOMIC : 0);
}

static inline uintptr_t key_granule(uint64_t key)
{
    return (uintptr_t)(key & ~ATOMIC) >> 8;
}

static inline uint64_t mix(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

// Neighbours have neighbouring buckets: an array does not get in its own way, and a page of memory takes few
// of ours.
static inline struct bucket *bucket_of(uintptr_t address)
{
    const uint64_t line = address >> LINE_SHIFT & ((1u << (PAGE_SHIFT - LINE_SHIFT)) - 1);

    return &buckets[((mix(address >> PAGE_SHIFT) >> 20) + line) & bucket_mask];
}

static inline uint64_t *lines_of(const struct bucket *b)
{
    return &lines[b - buckets];
}

static inline uint64_t line_bit(uintptr_t address)
{
    return (uint64_t)1 << (mix(address >> LINE_SHIFT) >> 58);
}

// Counters of neighbouring pages are neighbours.
static inline uint32_t *page_of(uintptr_t address)
{
    const uint64_t page = address >> PAGE_SHIFT & ((1u << (AREA_SHIFT - PAGE_SHIFT)) - 1);

    return &pages[((mix(address >> AREA_SHIFT) >> 20) + page) & (PAGES - 1)];
}

static inline uint64_t *area_of(uintptr_t address, uint64_t *bit)
{
    const uint64_t hash = mix(address >> AREA_SHIFT) >> 40;

    *bit = (uint64_t)1 << (hash & 63);
    return &areas[hash >> 6 & (RB_LENGTH(areas) - 1)];
}

static inline bool area_is_used(uintptr_t address)
{
    uint64_t bit;
    const uint64_t *word = area_of(address, &bit);

    return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

static inline void use_area(uintptr_t address)
{
    uint64_t bit, *word = area_of(address, &bit);

    if (RB_UNLIKELY(!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

int rb_history_init(size_t bytes)
{
    size_t count = 64;

    while (count * 2 * sizeof(struct bucket) <= bytes)
        count *= 2;
    buckets = mmap(NULL, count * sizeof(struct bucket), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buckets == MAP_FAILED)
        return -ENOMEM;
    pages = mmap(NULL, PAGES * sizeof(*pages), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return -ENOMEM;
    bucket_mask = count - 1;
    rb_footprint_map(buckets, count * sizeof(struct bucket));
    lines = mmap(NULL, count * sizeof(*lines), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lines == MAP_FAILED)
        return -ENOMEM;
    rb_footprint_map(pages, PAGES * sizeof(*pages));
    rb_footprint_table(pages, PAGES * sizeof(*pages));
    rb_footprint_map(lines, count * sizeof(*lines));
    return 0;
}

// Single-threaded: the pages come back as zeros.
void rb_history_reset_after_fork(void)
{
    if (!buckets)
        return;
    madvise(buckets, (bucket_mask + 1) * sizeof(struct bucket), MADV_DONTNEED);
    madvise(pages, PAGES * sizeof(*pages), MADV_DONTNEED);
    madvise(lines, (bucket_mask + 1) * sizeof(*lines), MADV_DONTNEED);
    __builtin_memset(areas, 0, sizeof(areas));
}

// Takes an entry out of its bucket, whose lock is held.
static void drop(struct rb_self *me, struct entry *e)
{
    rb_process.ops->cell_clear(&me->engine, cell_of(e));
    __atomic_fetch_sub(page_of(key_granule(e->key) << 3), 1, __ATOMIC_RELAXED);
    e->key = 0;
}

// A place for a new key: a free or forgotten one, else the one unused for longest.
static struct entry *make_room(struct rb_self *me, struct bucket *b, uint64_t key, uint32_t generation)
{
    struct entry *victim = &b->entry[0];

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *e = &b->entry[i];
        if (!e->key || e->generation != generation) {
            victim = e;
            break;
        }
        if (b->tick - e->used > b->tick - victim->used)
            victim = e;
    }
    if (victim->key) {
        if (victim->generation == generation)
            me->count.dropped++;
        drop(me, victim);
    }
    use_area(key_granule(key) << 3);
    *victim = (struct entry){.key = key, .generation = generation};
    *cell_of(victim) = (struct rb_cell){0, 0, 0, 0};
    __atomic_fetch_or(lines_of(b), line_bit(key_granule(key) << 3), __ATOMIC_RELAXED);
    __atomic_fetch_add(page_of(key_granule(key) << 3), 1, __ATOMIC_RELAXED);
    return victim;
}

static inline bool overlaps(const struct entry *e, uint64_t key, uint32_t generation)
{
    return e->key && key_granule(e->key) == key_granule(key) && (e->key & key & 0xff) &&
           e->generation == generation;
}

// One granule. The bucket's lock is held.
static void touch_granule(struct rb_self *me, struct bucket *b, uint64_t key, const struct rb_touch *t,
                          uint64_t where, uint32_t generation, struct rb_hit *hit)
{
    const struct rb_engine_ops *ops = rb_process.ops;
    const struct rb_access access = {where, t->write};
    struct rb_partner partner = {0, 0};
    struct entry *mine = NULL;

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *e = &b->entry[i];
        if (!overlaps(e, key, generation))
            continue;
        if (e->key == key) {
            mine = e;
            continue;
        }
        if (t->atomic && (e->key & ATOMIC))
            continue;
        ops->peek(&me->engine, &me->hb, cell_of(e), access, &partner);
        if (partner.epoch && !hit->epoch)
            *hit = (struct rb_hit){(key_granule(key) << 3) +
                                       (unsigned)__builtin_ctz((unsigned)(e->key & key & 0xff)),
                                   partner.epoch, partner.where, (e->key & ATOMIC) != 0};
    }
    if (!mine) {
        if (!t->record)
            return;
        mine = make_room(me, b, key, generation);
    }
    mine->used = ++b->tick;
    ops->access(&me->engine, &me->hb, cell_of(mine), access, t->record, &partner);
    if (partner.epoch && !hit->epoch && !t->atomic)
        *hit = (struct rb_hit){(key_granule(key) << 3) + (unsigned)__builtin_ctz((unsigned)(key & 0xff)),
                               partner.epoch, partner.where, false};
}

bool rb_history_knows(struct rb_self *me, const struct rb_touch *t)
{
    const unsigned first = t->address & 7, mask = ((1u << t->size) - 1) << first;
    const uint64_t key = make_key(t->address >> 3, mask, t->atomic);
    const rb_epoch mine = rb_own_epoch(&me->hb, t->write);
    struct bucket *b = bucket_of(t->address);
    const uint32_t generation = __atomic_load_n(&rb_process.generation, __ATOMIC_ACQUIRE);
    bool known = false;

    rb_spin_lock(&b->lock);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *e = &b->entry[i];
        if (!overlaps(e, key, generation))
            continue;
        if (e->key != key) {
            known = false;
            break;
        }
        const struct rb_cell *c = cell_of(e);
        known = t->write ? c->write == mine && !c->read : c->read == mine;
    }
    rb_spin_unlock(&b->lock);
    return known;
}

// Once the runtime is off, somebody's synchronisation goes unseen (thread.c).
static inline void believe(struct rb_hit *hit)
{
    if (RB_UNLIKELY(hit->epoch) && !__atomic_load_n(&rb_process.on, __ATOMIC_SEQ_CST))
        hit->epoch = 0;
}

void rb_history_touch(struct rb_self *me, const struct rb_touch *t, uint64_t where, struct rb_hit *hit)
{
    const uint32_t generation = __atomic_load_n(&rb_process.generation, __ATOMIC_ACQUIRE);
    const uintptr_t end = t->address + t->size;
    uintptr_t at = t->address;

    hit->epoch = 0;
    if (RB_UNLIKELY(!rb_is_remembered(generation)))
        return;
    while (at < end) {
        struct bucket *b = bucket_of(at);
        const uintptr_t line_end = (at | ((1u << LINE_SHIFT) - 1)) + 1;
        rb_spin_lock(&b->lock);
        while (at < end && at < line_end) {
            const unsigned first = at & 7, room = 8 - first;
            const unsigned bytes = end - at < room ? (unsigned)(end - at) : room;
            const unsigned mask = ((1u << bytes) - 1) << first;
            touch_granule(me, b, make_key(at >> 3, mask, t->atomic), t, where, generation, hit);
            at += bytes;
        }
        rb_spin_unlock(&b->lock);
    }
    believe(hit);
}

// What to do with the entries of a bucket that overlap [from, end): its lock is held.
typedef void (*visit)(struct rb_self *me, struct entry *e, void *context);

static void visit_bucket(struct rb_self *me, struct bucket *b, uintptr_t from, uintptr_t end, visit function,
                         void *context)
{
    uint64_t left = 0;

    rb_spin_lock(&b->lock);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *e = &b->entry[i];
        const uintptr_t granule = key_granule(e->key) << 3;
        if (e->key && granule + 8 > from && granule < end)
            function(me, e, context);
        if (e->key)
            left |= line_bit(granule);
    }
    __atomic_store_n(lines_of(b), left, __ATOMIC_RELAXED);
    rb_spin_unlock(&b->lock);
}

static void visit_line(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    visit_bucket(me, bucket_of(from), from, end, function, context);
}

static size_t visit_all(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    size_t looked_at = 0;

    for (uint64_t i = 0; i <= bucket_mask; i++)
        if (__atomic_load_n(&lines[i], __ATOMIC_RELAXED)) {
            visit_bucket(me, &buckets[i], from, end, function, context);
            looked_at++;
        }
    return looked_at;
}

// Visits all entries of [from, end), page by page, or bucket by bucket where there are more pages than
// buckets (address space is reserved by terabytes). Areas, pages and lines without entries are passed over,
// the lines without a lock: a thread that gives memory up has put its entries in before. Returns the number
// of lines looked at.
static size_t visit_range(struct rb_self *me, uintptr_t from, uintptr_t end, visit function, void *context)
{
    const uintptr_t page = (uintptr_t)1 << PAGE_SHIFT, line = (uintptr_t)1 << LINE_SHIFT;
    const uintptr_t area = (uintptr_t)1 << AREA_SHIFT;
    size_t looked_at = 0;

    if ((end - from) >> PAGE_SHIFT > bucket_mask)
        return visit_all(me, from, end, function, context);
    for (uintptr_t at = from; at < end && at >= from; at = (at | (page - 1)) + 1) {
        if (!area_is_used(at)) {
            at |= area - 1;
            continue;
        }
        if (__atomic_load_n(page_of(at), __ATOMIC_RELAXED) == 0)
            continue;
        const uintptr_t page_end = (at | (page - 1)) + 1, stop = page_end && page_end < end ? page_end : end;
        for (uintptr_t l = at; l < stop; l = (l | (line - 1)) + 1) {
            const uintptr_t line_end = (l | (line - 1)) + 1;
            if (!(__atomic_load_n(lines_of(bucket_of(l)), __ATOMIC_RELAXED) & line_bit(l)))
                continue;
            visit_line(me, l, line_end < stop ? line_end : stop, function, context);
            looked_at++;
        }
    }
    return looked_at;
}

struct check {
    const struct rb_touch *touch;
    struct rb_hit *hit;
};

// The bytes of the entry that are in the touch, as in its key.
static unsigned touched(const struct entry *e, const struct rb_touch *t)
{
    const uintptr_t granule = key_granule(e->key) << 3, end = t->address + t->size;
    unsigned mask = (unsigned)e->key & 0xff;

    if (t->address > granule)
        mask &= 0xffu << (t->address - granule);
    if (end < granule + 8)
        mask &= (1u << (end - granule)) - 1;
    return mask;
}

static void check_entry(struct rb_self *me, struct entry *e, void *context)
{
    const struct check *c = context;
    struct rb_partner partner = {0, 0};
    const unsigned mask = touched(e, c->touch);

    if (c->hit->epoch || !mask || e->generation != __atomic_load_n(&rb_process.generation, __ATOMIC_ACQUIRE))
        return;
    rb_process.ops->peek(&me->engine, &me->hb, cell_of(e), (struct rb_access){0, c->touch->write}, &partner);
    if (partner.epoch)
        *c->hit = (struct rb_hit){(key_granule(e->key) << 3) + (unsigned)__builtin_ctz(mask), partner.epoch,
                                  partner.where, (e->key & ATOMIC) != 0};
}

void rb_history_check(struct rb_self *me, const struct rb_touch *t, struct rb_hit *hit)
{
    struct check check = {t, hit};

    hit->epoch = 0;
    visit_range(me, t->address, t->address + t->size, check_entry, &check);
    believe(hit);
}

static void drop_entry(struct rb_self *me, struct entry *e, void *context)
{
    (void)context;
    drop(me, e);
}

void rb_history_forget(struct rb_self *me, uintptr_t from, size_t bytes)
{
    if (!bytes || from + bytes < from)
        return;
    rb_record_forget(me, from, bytes);
    rb_history_drop(me, from, bytes);
}

void rb_history_drop(struct rb_self *me, uintptr_t from, size_t bytes)
{
    me->count.forgotten += visit_range(me, from, from + bytes, drop_entry, NULL);
}

// One granule: its entries are taken out and put in under another key.
static void move_granule(struct rb_self *me, uintptr_t from, uintptr_t to)
{
    const uint32_t generation = __atomic_load_n(&rb_process.generation, __ATOMIC_ACQUIRE);
    struct bucket *b = bucket_of(from);
    struct entry moving[ENTRIES];
    struct rb_cell cells[ENTRIES];
    unsigned n = 0;

    rb_spin_lock(&b->lock);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry *e = &b->entry[i];
        if (!e->key || key_granule(e->key) << 3 != from || e->generation != generation)
            continue;
        cells[n] = *cell_of(e);
        moving[n++] = *e;
        __atomic_fetch_sub(page_of(from), 1, __ATOMIC_RELAXED);
        e->key = 0;
    }
    rb_spin_unlock(&b->lock);
    visit_line(me, to, to + 8, drop_entry, NULL);
    b = bucket_of(to);
    rb_spin_lock(&b->lock);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t key = make_key(to >> 3, moving[i].key & 0xff, (moving[i].key & ATOMIC) != 0);
        struct entry *e = make_room(me, b, key, generation);
        *cell_of(e) = cells[i];
        e->used = ++b->tick;
    }
    rb_spin_unlock(&b->lock);
}

void rb_history_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes)
{
    rb_record_forget(me, from, bytes);
    rb_record_forget(me, to, bytes);
    for (size_t i = 0; i < bytes && from != to; i += 8) {
        const size_t at = to > from ? bytes - 8 - i : i;
        move_granule(me, from + at, to + at);
    }
}
