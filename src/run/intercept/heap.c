// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/intercept/heap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/arch.h"
#include "run/core/footprint.h"
#include "run/core/stack.h"
#include "run/core/upcalls.h"
#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"
#include "run/record/record.h"
#include "run/sampler/sampling.h"
#include "run/sync/objects.h"
#include "run/watchpoint/watchpoints.h"

// The table of blocks: by address, direct mapped. A new block replaces the one in its place. With
// sampler=none there is no table, as there are no reports. There is no lock: the seal is the address mixed
// with all other fields. A place written by two threads at once therefore holds a block at no address.
static struct place {
    uint64_t seal; // 0: free
    size_t size;
    rb_stack stack;
    uint32_t thread; // its number, and above its 24 bits those of `forks`
    uintptr_t pc;
} * blocks;
static uint64_t block_mask;
static uint32_t forks; // from the start of the first process to this one; 8 bits
// A bit for each place that is not free. The bits fit a cache: also while tracking
// is paused, every freed block is looked up.
static uint64_t *taken;

int rb_heap_init(size_t bytes)
{
    size_t count = 1024;

    while (count * 2 * sizeof(*blocks) <= bytes)
        count *= 2;
    const size_t mapped = count * sizeof(*blocks) + count / 8;
    blocks = RB_REAL(mmap)(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                           -1, 0);
    if (blocks == MAP_FAILED) {
        blocks = NULL;
        return -ENOMEM;
    }
    block_mask = count - 1;
    taken = (uint64_t *)(blocks + count);
    rb_footprint_map(blocks, mapped);
    return 0;
}

// Makes the parent's blocks anonymous: its numbers of stacks and threads are void here. A block from 256
// forks ago would look like one of this process, so the table is emptied then.
void rb_heap_after_fork(void)
{
    forks = (forks + 1) & 0xff;
    if (forks == 0 && blocks)
        madvise(blocks, (block_mask + 1) * sizeof(*blocks) + (block_mask + 1) / 8, MADV_DONTNEED);
}

// Neighbouring blocks have neighbouring places, so that a page of the heap uses few pages of the table. No
// allocator has two blocks within 32 bytes.
static inline struct place *place_of(uintptr_t address)
{
    return &blocks[(rb_hash(address >> 17, 40) + (address >> 5 & 4095)) & block_mask];
}

static inline bool is_taken(const struct place *p)
{
    const size_t i = (size_t)(p - blocks);

    return rb_load_seq_cst(&taken[i / 64]) >> i % 64 & 1;
}

static inline void take_place(const struct place *p)
{
    const size_t i = (size_t)(p - blocks);

    if (!is_taken(p))
        rb_fetch_or_seq_cst(&taken[i / 64], (uint64_t)1 << i % 64);
}

// A thread that writes a seal marks the place as taken afterwards. A thread that frees a place checks for a
// new seal afterwards. So one of the two sees the other's change.
static inline void set_free(struct place *p)
{
    const size_t i = (size_t)(p - blocks);

    rb_store_relaxed(&p->seal, 0);
    rb_fetch_and_seq_cst(&taken[i / 64], ~((uint64_t)1 << i % 64));
    if (RB_UNLIKELY(rb_load_seq_cst(&p->seal) != 0))
        take_place(p);
}

static inline uint64_t mix_fields(const struct rb_block *b)
{
    return b->size * 0xbf58476d1ce4e5b9u ^ ((uint64_t)b->stack << 32 | b->thread) * 0x94d049bb133111ebu ^
           b->pc * 0xd6e8feb86659fd93u;
}

static inline void store_block(struct place *p, const struct rb_block *b)
{
    rb_store_seq_cst(&p->seal, b->address ^ mix_fields(b));
    take_place(p);
    rb_store_relaxed(&p->size, b->size);
    rb_store_relaxed(&p->stack, b->stack);
    rb_store_relaxed(&p->thread, b->thread);
    rb_store_relaxed(&p->pc, b->pc);
}

// Returns the block in the place; its address is 0 if there is none.
static inline struct rb_block load_block(const struct place *p)
{
    const uint64_t seal = rb_load_relaxed(&p->seal);
    struct rb_block b = {.size = rb_load_relaxed(&p->size),
                         .stack = rb_load_relaxed(&p->stack),
                         .thread = rb_load_relaxed(&p->thread),
                         .pc = rb_load_relaxed(&p->pc)};

    b.address = seal ? seal ^ mix_fields(&b) : 0;
    return b;
}

void rb_memory_new(struct rb_self *me, uintptr_t address, size_t size)
{
    rb_collide_forget(address, size);
    rb_accesses_forget(me, address, size);
    rb_objects_forget(me, address, size);
}

// Returns false if the kernel will refuse the call at once. Then the
// memory stays, and everything known of it.
bool rb_may_go(uintptr_t address, size_t size)
{
    const uintptr_t last = (uintptr_t)1 << 47, page = 4096;

    return address % page == 0 && size && address < last && size <= last - address;
}

void rb_memory_goes(struct rb_self *me, uintptr_t address, size_t size)
{
    if (rb_may_go(address, size))
        rb_memory_new(me, address, size);
}

size_t rb_segment_bytes(int segment)
{
    struct shmid_ds of;

    return syscall(SYS_shmctl, segment, IPC_STAT, &of) ? 0 : of.shm_segsz;
}

// Returns the stack of the allocation. A whole stack for each block would cost more than the block. Blocks
// that are paid for by sampling have one; with a budget the others have the innermost frame.
static rb_stack alloc_stack(struct rb_self *me, uintptr_t pc)
{
    if (!rb_process.by_cost)
        return rb_process.take_all || rb_skip < 64 ? rb_stack_here(&me->walk, pc, rb_process.stack_depth) : 0;
    const uint64_t start = rb_arch_ticks();
    const rb_stack stack = rb_stack_here(&me->walk, pc, rb_process.stack_depth);
    rb_sampling_cost(me, rb_arch_ticks() - start);
    return stack;
}

static void add_block(struct rb_self *me, uintptr_t address, size_t size, uintptr_t pc)
{
    const bool dear = rb_process.collides || (rb_process.by_cost && !rb_adaptive_affords());
    const rb_stack stack = dear ? 0 : alloc_stack(me, pc);
    const uint32_t thread = dear || stack ? me->id : RB_NO_THREAD;

    store_block(place_of(address),
                &(struct rb_block){address, size, stack, forks << 24 | thread, dear ? pc : 0});
}

static void remove_block(uintptr_t address)
{
    struct place *p = blocks ? place_of(address) : NULL;

    if (p && is_taken(p) && load_block(p).address == address)
        set_free(p);
}

bool rb_heap_block(uintptr_t address, struct rb_block *block)
{
    bool found = false;

    for (uint64_t i = 0; blocks && i <= block_mask && !found; i++) {
        const struct rb_block b = load_block(&blocks[i]);
        if (b.address && address >= b.address && address - b.address < (b.size ? b.size : 1)) {
            *block = (struct rb_block){b.address, b.size, 0, RB_NO_THREAD, 0};
            if (b.thread >> 24 == forks) {
                block->stack = b.pc ? rb_stack_child(0, b.pc) : b.stack;
                block->thread = b.thread & RB_NO_THREAD;
            }
            found = true;
        }
    }
    return found;
}

size_t rb_heap_bytes(void)
{
    size_t bytes = 0;

    for (uint64_t i = 0; blocks && i <= block_mask; i++) {
        const struct rb_block b = load_block(&blocks[i]);
        bytes += b.address ? b.size : 0;
    }
    return bytes;
}

void (*rb_heap_told_new)(const volatile void *block, size_t size);
void (*rb_heap_told_gone)(const volatile void *block);

// Returns true if blocks are entered in the table. With a budget they are not while tracking is paused and
// there are other threads. Allocators are called with locks held that other threads want: a delay of the
// holder costs a multiple of its time.
static inline bool is_kept(void)
{
    return blocks && (!rb_process.by_cost || !rb_is_paused() || !rb_sampling_has_others());
}

// Counts blocks for samplers that go by cost: one block costs too little to be timed.
static void count_block(struct rb_self *me)
{
    if (RB_UNLIKELY(++me->count.blocks % 256 == 0 && rb_process.by_cost))
        rb_sampling_synced(me, 0);
}

static RB_NOINLINE void *follow_alloc_slow(void *block, size_t size, uintptr_t pc)
{
    const int saved = errno;
    struct rb_self *me = block ? rb_enter() : NULL;

    if (me) {
        rb_collide_forget((uintptr_t)block, size);
        if (!(rb_load_acquire(&rb_process.paused) & RB_PAUSED)) { // synchronisation is not paused
            rb_memory_new(me, (uintptr_t)block,
                          RB_REAL(malloc_usable_size)(block)); // free will write that many bytes
        }
        if (is_kept()) {
            count_block(me);
            add_block(me, (uintptr_t)block, size, pc);
        }
        rb_leave(me);
        if (RB_UNLIKELY(rb_heap_told_new != NULL))
            rb_heap_told_new(block, size);
    }
    errno = saved;
    return block;
}

// Follows an allocation, after the real allocator has returned.
static inline void *follow_alloc(void *block, size_t size, uintptr_t pc)
{
    return rb_idle() && !is_kept() && !rb_heap_told_new ? block : follow_alloc_slow(block, size, pc);
}

static RB_NOINLINE void follow_free_slow(void *block, uintptr_t pc, bool reports)
{
    const int saved = errno;

    if (RB_UNLIKELY(rb_heap_told_gone != NULL) && block && rb_self_tls && !rb_self_tls->busy)
        rb_heap_told_gone(block);
    struct rb_self *me = block ? rb_enter() : NULL;
    if (me) {
        if (!rb_is_paused()) {
            const size_t size = RB_REAL(malloc_usable_size)(block);
            if (!me->creating && !rb_passes_odd() && rb_frees(pc))
                rb_access_freed(me, (uintptr_t)block, size, pc);
            rb_objects_forget(me, (uintptr_t)block, size);
            rb_record_freed(me, (uintptr_t)block);
            count_block(me);
        }
        remove_block((uintptr_t)block);
        if (reports)
            rb_races_report(me);
        rb_leave(me);
    }
    errno = saved;
}

// Follows the freeing of a block, before the real allocator gets it. A race with
// it is reported now, or with the next report.
static inline void follow_free(void *block, uintptr_t pc, bool reports)
{
    if (!rb_idle() || (blocks && is_taken(place_of((uintptr_t)block))) || rb_heap_told_gone)
        follow_free_slow(block, pc, reports);
}

// Looking up the real functions may itself allocate. Such blocks come from here, and are never freed.
static char early[16384] __attribute__((aligned(16)));
static size_t early_used;

static void *early_alloc(size_t size)
{
    const size_t bytes = (size + 15) & ~(size_t)15, at = rb_fetch_add_relaxed(&early_used, bytes);

    return at + bytes <= sizeof(early) ? early + at : NULL;
}

static bool is_early(const void *block)
{
    return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

#if !defined(RB_STATIC)
static RB_TLS bool looking;

void rb_heap_find_real(void)
{
    looking = true;
    rb_real_find((void **)(void *)&rb_real.malloc, "malloc");
    rb_real_find((void **)(void *)&rb_real.calloc, "calloc");
    rb_real_find((void **)(void *)&rb_real.realloc, "realloc");
    rb_real_find((void **)(void *)&rb_real.free, "free");
    rb_real_find((void **)(void *)&rb_real.malloc_usable_size, "malloc_usable_size");
    looking = false;
}

static inline bool is_too_early(void)
{
    if (RB_LIKELY(rb_real.free != NULL))
        return false;
    if (!looking)
        rb_heap_find_real();
    return looking || !rb_real.free;
}
#else
void rb_heap_find_real(void)
{
}

static inline bool is_too_early(void)
{
    return false;
}
#endif

RB_INTERCEPT(void *, malloc, (size_t size))
{
    return is_too_early() ? early_alloc(size) : follow_alloc(RB_REAL(malloc)(size), size, RB_PC);
}

RB_INTERCEPT(void *, calloc, (size_t count, size_t size))
{
    return is_too_early() ? early_alloc(count * size)
                          : follow_alloc(RB_REAL(calloc)(count, size), count * size, RB_PC);
}

// Ends a change of size. Only now it is known whether the old block is gone. If not, it stays as it was,
// but its sync objects were forgotten, and there was no write to it.
static RB_NOINLINE void settle_change(bool gone)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    if (!gone) {
        rb_races_drop(me);
        rb_lost_edge(me);
    }
    rb_races_report(me);
    rb_leave(me);
}

static void *resize_block(void *block, size_t size, uintptr_t pc)
{
    if (is_early(block)) {
        char *fresh = RB_REAL(malloc)(size);
        const char *old = block, *end = early + sizeof(early);
        for (size_t i = 0; fresh && i < size && old + i < end; i++)
            fresh[i] = old[i];
        return fresh;
    }
    if (block)
        follow_free(block, pc, false);
    void *changed = RB_REAL(realloc)(block, size);
    const bool gone = changed || !block || !size;
    if (RB_UNLIKELY(!gone) || (block && rb_self_tls && RB_UNLIKELY(rb_self_tls->found != NULL)))
        settle_change(gone);
    return follow_alloc(changed, size, pc);
}

RB_INTERCEPT(void *, realloc, (void *block, size_t size))
{
    if (is_too_early())
        return early_alloc(size);
    return resize_block(block, size, RB_PC);
}

RB_INTERCEPT(void *, reallocarray, (void *block, size_t count, size_t size))
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (is_too_early())
        return early_alloc(bytes);
    return resize_block(block, bytes, RB_PC);
}

RB_INTERCEPT(void, free, (void *block))
{
    if (!block || is_early(block) || is_too_early())
        return;
    follow_free(block, RB_PC, true);
    RB_REAL(free)(block);
}

RB_INTERCEPT(void *, memalign, (size_t alignment, size_t size))
{
    return follow_alloc(RB_REAL(memalign)(alignment, size), size, RB_PC);
}

RB_INTERCEPT(void *, aligned_alloc, (size_t alignment, size_t size))
{
    return follow_alloc(RB_REAL(aligned_alloc)(alignment, size), size, RB_PC);
}

RB_INTERCEPT(int, posix_memalign, (void **block, size_t alignment, size_t size))
{
    const int r = RB_REAL(posix_memalign)(block, alignment, size);

    if (r == 0)
        follow_alloc(*block, size, RB_PC);
    return r;
}

RB_INTERCEPT(void *, valloc, (size_t size))
{
    return follow_alloc(RB_REAL(valloc)(size), size, RB_PC);
}

RB_INTERCEPT(void *, pvalloc, (size_t size))
{
    return follow_alloc(RB_REAL(pvalloc)(size), size, RB_PC);
}

uintptr_t rb_heap_allocator(void)
{
    return (uintptr_t)RB_REAL(malloc);
}

RB_INTERCEPT(size_t, malloc_usable_size, (void *block))
{
    return is_early(block) ? 0 : RB_REAL(malloc_usable_size)(block);
}

RB_INTERCEPT(void *, mremap, (void *old, size_t old_size, size_t size, int flags, ...))
{
    va_list list;
    struct rb_self *me;

    va_start(list, flags);
    void *fixed = flags & MREMAP_FIXED ? va_arg(list, void *) : NULL;
    va_end(list);
    // A mapping that surely stays loses only its cut-off end. Else all of its
    // old place may hold another mapping at once.
    const bool stays = !(flags & MREMAP_MAYMOVE) || (size <= old_size && !(flags & MREMAP_FIXED));
    if ((me = rb_enter()) != NULL) {
        if (!stays)
            rb_memory_new(me, (uintptr_t)old, old_size);
        else if (size < old_size)
            rb_memory_new(me, (uintptr_t)old + size, old_size - size);
        rb_leave(me);
    }
    void *r = RB_REAL(mremap)(old, old_size, size, flags, fixed);
    const int saved = errno;
    if (r != MAP_FAILED && (me = rb_enter()) != NULL) {
        if (r != old)
            rb_memory_new(me, (uintptr_t)r, size);
        else if (size > old_size)
            rb_memory_new(me, (uintptr_t)r + old_size, size - old_size);
        rb_leave(me);
    }
    errno = saved;
    return r;
}
