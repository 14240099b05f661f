// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RAPID's STD text, `THREAD|OP(TARGET)|LOCATION` a line, in and out. docs/reference/trace-format.md has the accepted
// grammar and its differences from RAPID's reader. Tool side.
#ifndef RB_TRACE_STD_STD_H
#define RB_TRACE_STD_STD_H

#include <stdio.h>

#include "trace/reader.h"
#include "trace/writer.h"

// Found by an import besides plain events; the command prints each non-zero count once.
struct rb_std_notes {
    uint64_t lines, comments, blank, marks;
    uint64_t aliased;             // fork/join targets such as `122` taken for the thread `T122`
    char alias_example[64];       // one of them
    uint64_t unmatched_release;   // lenient: releases, read-unlocks too, of a lock the thread does not hold
    uint64_t overlapping_acquire; // lenient: acquires of a lock another thread holds
};

// Reads a regular file of STD text into `w` (open; finished by this call, or abandoned when it fails). A
// line that cannot be read is an error, and so is a lock misuse unless `lenient`. The error has the file,
// the line, the text found and the text expected.
int rb_std_import(const char *path, struct rb_writer *w, bool lenient, struct rb_std_notes *notes,
                  struct rb_error *e);

// Writes the trace as STD text. `foreign` counts events of kinds that RAPID does not read. `renamed` counts
// names that the text cannot hold and that got another: locations that are not integers (numbered instead),
// names with '|' or a line break, and names that several objects share.
int rb_std_export(struct rb_reader *r, FILE *out, uint64_t *foreign, uint64_t *renamed, struct rb_error *e);

#endif
