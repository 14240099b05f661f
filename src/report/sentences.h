// A report's sentences, the same in every format, in ThreadSanitizer's words where it has some. Each is for
// free() and NULL when memory is out. They hold whatever names the program chose: escape before printing.
// Tool side.
#ifndef RB_REPORT_SENTENCES_H
#define RB_REPORT_SENTENCES_H

#include "report/race_merge.h"

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

// Of a frame: the function or NULL; "file.c:12:3" with the folder or without, or NULL.
char *rb_words_place(const json_t *frame, bool with_folder, bool with_column);

#endif
