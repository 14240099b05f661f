// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Races as they are found: `railbird report --live` reads raw lines from standard input or from the ring
// that it shares with a running program (live_ring.c). Each line becomes text and a line of JSON at once.
// One write for each report keeps the reports of several processes in one file apart. The reporter waits
// for nothing but its input, and ends when the input ends. It ignores the signals that end a program from
// outside: they are for the program. Tool side.
#ifndef RB_REPORT_LIVE_LIVE_H
#define RB_REPORT_LIVE_LIVE_H

#include <signal.h>
#include <stdio.h>

#include "base/error.h"
#include "report/race_merge.h"

struct rb_live_options {
    const char *name;      // of the command, before messages
    const char *text;      // "-" for standard error, a file to append to, or NULL
    const char *json_file; // a file to append to, or NULL
    const char *const *suppressions;
    size_t suppression_count;
    bool verbose;
    uint64_t max_reports; // causes that are shown; 0: no limit
};

struct rb_live_result {
    uint64_t reported, suppressed, unread;
    bool failed; // something could not be read or written; a message is on standard error
};

// Each failure is a line on standard error, and none ends the work.
struct rb_live;
// Returns NULL after a message if out of memory.
struct rb_live *rb_live_open(const struct rb_live_options *o, struct rb_live_result *result);
void rb_live_close(struct rb_live *l);

// Parses a line and adds names to it. Returns true if the race is to be shown; rb_race_free ends it.
// Otherwise it was suppressed or could not be read, and the result counts it.
bool rb_live_read(struct rb_live *l, const char *line, size_t length, struct rb_race *race);
// Writes a race to the outputs that the options name. If only JSON is wanted and cannot be written, writes
// the text.
void rb_live_show(struct rb_live *l, const struct rb_race *race, bool with_text);
// Writes text that is not a race to the same place.
void rb_live_say(struct rb_live *l, const char *text, size_t length);
// Writes a line of JSON unchanged.
void rb_live_keep(struct rb_live *l, const char *line, size_t length);

// True while text is being written, which may block for ever.
extern volatile sig_atomic_t rb_live_is_writing;

// Reads `in` to its end.
void rb_live_run(FILE *in, const struct rb_live_options *o, struct rb_live_result *result);
// Delivers the records of the ring on standard input until the program with that pid has ended, or until no
// record comes for some seconds. Returns false if there is no ring.
bool rb_live_run_ring(int program, const struct rb_live_options *o, struct rb_live_result *result);

#endif
