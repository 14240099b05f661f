// Races as they are found: `railbird report --live` reads raw lines, of standard input or of the ring that it
// shares with a running program (live_ring.c); each becomes text and a line of JSON at once. One write for
// each report, so that those of several processes into one file do not mix, and no waiting for anything but
// its input. It ends when the input does; the signals that end a program from outside are for the program.
// Tool side.
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
    bool failed; // something could not be read or written; it was said on standard error
};

// What went wrong is said on standard error, a line each, and never ends the work.
struct rb_live;
struct rb_live *rb_live_open(const struct rb_live_options *o,
                             struct rb_live_result *result); // NULL: out of memory, said
void rb_live_close(struct rb_live *l);

// Takes a line apart and puts names to it. Returns true if the race is to be shown; rb_race_free ends it.
// Else it was suppressed, or could not be read: the result counts.
bool rb_live_read(struct rb_live *l, const char *line, size_t length, struct rb_race *race);
// Writes a race where the options want it. Where JSON alone is wanted and cannot be written, people get the
// text.
void rb_live_show(struct rb_live *l, const struct rb_race *race, bool with_text);
// Writes text that is no race to the same place.
void rb_live_say(struct rb_live *l, const char *text, size_t length);
// Writes a line of JSON as it is.
void rb_live_keep(struct rb_live *l, const char *line, size_t length);

// True while text is being written, which may take for ever.
extern volatile sig_atomic_t rb_live_is_writing;

// Reads `in` to its end.
void rb_live_run(FILE *in, const struct rb_live_options *o, struct rb_live_result *result);
// Delivers what is in the ring on standard input until the program, of that number, has ended or nothing
// comes for some seconds. Returns false if there is no ring.
bool rb_live_run_ring(int program, const struct rb_live_options *o, struct rb_live_result *result);

#endif
