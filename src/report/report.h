// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four formats of a report, and the sentences that they share. All formats take races that are
// symbolized and merged, and only write. JSON has every race; the others show one of a cause (cause.h) and
// name the rest. Tool side.
#ifndef RB_REPORT_REPORT_H
#define RB_REPORT_REPORT_H

#include <stdio.h>

#include "report/race_merge.h"

struct rb_report {
    const struct rb_race_list *races;
    const char *version;
    bool has_baseline; // then every race says whether it is new
    bool verbose;      // text: build-ids, names of functions in full, every race of a cause
};

// Prints one race as ThreadSanitizer would; `is_new` is printed only if there is a baseline.
void rb_report_race_text(FILE *out, const struct rb_race *race, bool has_baseline, bool verbose);
int rb_report_text(FILE *out, const struct rb_report *report, struct rb_error *e);

// Returns a race as one object: the id, the results of merging, then the record. NULL if out of memory.
json_t *rb_report_race_json(const struct rb_race *race, bool has_baseline);
// Returns the unmerged record as a line with its end, with its id and without "control"; for free().
char *rb_report_single_json(const struct rb_race *race, size_t *length);
int rb_report_json(FILE *out, const struct rb_report *report, struct rb_error *e);

// Writes the Static Analysis Results Interchange Format 2.1.0, for code-scanning services and editors.
int rb_report_sarif(FILE *out, const struct rb_report *report, struct rb_error *e);

// Writes one self-contained page.
int rb_report_html(FILE *out, const struct rb_report *report, struct rb_error *e);

// ---- sentences -----------------------------------------------------------------------------------------
// ThreadSanitizer's words where it has some. Each sentence is for free(), and NULL if out of memory. It
// holds names that the program chose: escape before printing.

// "Write of size 4 at 0x7f01 by thread T2 'worker'", "Previous atomic read ..." for access 1.
char *rb_words_access(const json_t *record, size_t access);
// "main thread", "thread T2 'worker'".
char *rb_words_thread(const json_t *record, json_int_t id);
// "Location is ...", without the stack that may follow; NULL also if nothing is known.
char *rb_words_location(const json_t *record);
// "Thread T2 'worker' (tid=4711, running) created by main thread".
char *rb_words_creation(const json_t *record, const json_t *thread);
// "function file.c:12:3 (module+0x1234) (BuildId: ...)"; a long name of a function is shortened unless
// `verbose`.
char *rb_words_frame(const json_t *frame, bool verbose);
// "data race file.c:12 in function".
char *rb_words_summary(const json_t *record, bool verbose);
// "seen 3 times in 2 processes on a, b, first 2026-01-02 03:04:05 UTC, last ..."; NULL if it was seen once.
char *rb_words_seen(const struct rb_race *race);
// "happens-before".
const char *rb_words_evidence(const json_t *record);
// "order made in libtbb.so.12 could not be followed"; NULL if there is no such library.
char *rb_words_unseen(const json_t *record);

// "file.c:12:3" of a frame, with the folder or without; NULL if the file is not known.
char *rb_words_place(const json_t *frame, bool with_folder, bool with_column);

#endif
