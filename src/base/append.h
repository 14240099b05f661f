// Appends to a file that several processes share, whole texts only. Both worlds: system calls alone, nothing
// is allocated, and errno is the caller's to keep.
//
// Invariants, for regular files:
//   - A text that does not fit (a full disk, a limit) is taken back: the file has all of it or nothing.
//   - A text that begins where somebody else left half a line gets a line of its own.
// Nothing waits: a FIFO without a reader is refused, and a full one gets nothing.
#ifndef RB_BASE_APPEND_H
#define RB_BASE_APPEND_H

#include "base/types.h"

// Opens a file to append to, and makes it with mode 0644 if it is not there. Returns the descriptor or a
// negative errno.
int rb_append_open(const char *path);
// Appends a text. `path` is that of the descriptor, NULL if the text need not begin a line. Returns 0 or a
// negative errno.
int rb_append(int fd, const char *path, const char *text, size_t bytes);

#endif
