// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Appends whole texts to a file that several processes share. Both worlds: system calls alone, no
// allocation; the caller saves errno.
//
// Invariants, for regular files:
//   - A text that does not fit (a full disk, a limit) is taken back: the file has all of it or nothing.
//   - A text after a line that another process left incomplete begins a new line.
// No call waits: a FIFO without a reader is refused, and a full one gets nothing.
#ifndef RB_BASE_APPEND_H
#define RB_BASE_APPEND_H

#include "base/types.h"

// Opens a file to append to; creates it with mode 0644 if it does not exist. Returns the descriptor or a
// negative errno.
int rb_append_open(const char *path);
// Returns true if the process's limit of file sizes (RLIMIT_FSIZE) lets so many bytes more into the file. Beyond
// it the kernel would answer a write with SIGXFSZ, which ends the program.
bool rb_file_has_room(int fd, size_t bytes);
// Writes the text. Returns 0 or a negative errno; `*written` counts the bytes written in either case.
int rb_write_text(int fd, const char *text, size_t bytes, size_t *written);
// Appends a text. `path` is the descriptor's path, or NULL if the text need not begin a line. Returns 0 or
// a negative errno.
int rb_append(int fd, const char *path, const char *text, size_t bytes);

#endif
