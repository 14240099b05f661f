// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `record=FILE`: every synchronisation, the accesses the sampler takes, allocation and function events go
// into a raw recording (trace/raw/raw.h), which `railbird record` merges into a trace. Does nothing, after
// one test, when nothing is recorded. All of it is called inside the guard. Events of an object are
// recorded while its lock is held: their numbers mean something only then (docs/explanation/recording.md).
#ifndef RB_RUN_RECORD_RECORD_H
#define RB_RUN_RECORD_RECORD_H

#include "run/core/rt.h"
#include "trace/raw/raw.h"

// Set at start; cleared for good in a fork's child, and when the recording cannot go on (disk full).
// Relaxed reads suffice: a thread that takes an object's lock from a thread that saw it cleared sees it
// cleared too (coherence). So the recorded events contain everything that happened before any of them.
extern RB_HIDDEN bool rb_recording;

struct rb_memory_access;
RB_HIDDEN int rb_record_start(const char *path);
RB_HIDDEN void rb_record_finish(void);
RB_HIDDEN void rb_record_stop_after_fork(void);
RB_HIDDEN void rb_record_access(struct rb_self *me, const struct rb_memory_access *t, uintptr_t pc);
// The accesses that one call of a hook announced last, two at most (a copy reads and writes).
struct rb_undone {
    unsigned count;
    struct {
        uint64_t word0, place, bytes; // bytes: of an EXTENT behind; 0: there is none
    } access[2];
};
// Takes the thread's last accesses, from the one that touches the address on, out of the recording, if
// nothing else was recorded since. For an access that has faulted.
RB_HIDDEN void rb_record_undo(struct rb_self *me, uintptr_t address, struct rb_undone *undone);
RB_HIDDEN void rb_record_redo(struct rb_self *me, const struct rb_undone *undone);
RB_HIDDEN void rb_record_event(struct rb_self *me, enum rb_op op, uint64_t target, uintptr_t pc);
RB_HIDDEN void rb_record_own(struct rb_self *me, enum rb_raw_op op, uint64_t address, size_t bytes);
// Records RB_ENTER with a place inside the function, or RB_EXIT. Has a guard of its own.
RB_HIDDEN void rb_record_function(enum rb_op op, uintptr_t pc);
// Frees the buffer of a state that is given up without having been a thread (fibers).
RB_HIDDEN void rb_record_free(struct rb_self *t);

RB_INLINE bool rb_records(void)
{
    return RB_UNLIKELY(rb_load_relaxed(&rb_recording));
}

// Records a FORK or JOIN, where `target` is a thread's id, or a MARK: the thread ends.
RB_INLINE void rb_record_sync(struct rb_self *me, enum rb_op op, uint64_t target)
{
    if (rb_records())
        rb_record_event(me, op, target, 0);
}

// Records that the object, or its content, is gone.
RB_INLINE void rb_record_gone(struct rb_self *me, uintptr_t object)
{
    if (rb_records())
        rb_record_own(me, RB_RAW_GONE, object, 0);
}

// Records that [from, from + bytes) starts anew.
RB_INLINE void rb_record_forget(struct rb_self *me, uintptr_t from, size_t bytes)
{
    if (rb_records())
        rb_record_own(me, RB_RAW_FORGET, from, bytes);
}

// Records a free, before the block is given back: its next owner takes a larger number.
RB_INLINE void rb_record_freed(struct rb_self *me, uintptr_t block)
{
    if (rb_records())
        rb_record_own(me, RB_RAW_FREED, block, 0);
}

// ---- the file (record_file.c) --------------------------------------------------------------------------
// Claimed by one process, grown chunk by chunk, each mapped by the thread that writes it. Blocks are
// allocated before they are mapped, because a full disk would otherwise be a SIGBUS in the middle of the
// program. No descriptor stays open between chunks: a program may close descriptors that it does not know.

// Page 0 of the file, mapped from rb_record_file_open on.
extern RB_HIDDEN struct rb_raw_header *rb_record_header;

// Claims the file for this process; makes it if need be. Returns 0 or a negative errno. -EBUSY: it is
// another process's (-EALREADY: and a tool will say so); -EINVAL: it is no raw recording.
RB_HIDDEN int rb_record_file_open(const char *path);

// Maps a new chunk, its head filled in but for `magic`, which the caller writes when the rest is there.
// NULL (*problem is an errno) if none can be had. Leaves errno alone.
RB_HIDDEN struct rb_raw_chunk *rb_record_chunk(enum rb_raw_kind kind, uint32_t bytes, int *problem);
RB_HIDDEN void rb_record_unmap(struct rb_raw_chunk *chunk);

#endif
