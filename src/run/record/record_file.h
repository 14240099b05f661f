// The raw recording as a file: claimed by one process, grown chunk by chunk, each mapped by the thread that
// writes it. Blocks are allocated before they are mapped, because a full disk would otherwise be a SIGBUS in
// the middle of the program. No descriptor stays open between chunks: a program may close what it does not
// know.
#ifndef RB_RUN_RECORD_RECORD_FILE_H
#define RB_RUN_RECORD_RECORD_FILE_H

#include "run/core/rt.h"
#include "trace/raw/raw.h"

// Page 0 of the file, mapped from rb_record_file_open on.
extern RB_HIDDEN struct rb_raw_header *rb_record_header;

// Claims the file for this process, made if need be. 0 or a negative errno; -EBUSY: it is another process's
// (-EALREADY: and a tool will say so); -EINVAL: it is no raw recording.
RB_HIDDEN int rb_record_file_open(const char *path);

// A new chunk, mapped, its head filled in but for `magic`, which the caller writes when the rest is there.
// NULL
// (*problem is an errno) if it is not to be had. errno is left alone.
RB_HIDDEN struct rb_raw_chunk *rb_record_chunk(enum rb_raw_kind kind, uint32_t bytes, int *problem);
RB_HIDDEN void rb_record_unmap(struct rb_raw_chunk *chunk);

#endif
