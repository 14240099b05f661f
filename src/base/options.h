// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's options as text: "key=value:key=value". One parser serves the running program and the
// command line. The program continues with the defaults after a mistake; the command line refuses the
// mistakes that the program would complain about. Both worlds: no call of libc, no allocation, errno stays.
//
// The end of a value: values contain colons of their own (sampler=random:0.03, report=json:FILE). So a
// colon or blank ends a value only if a new pair follows (a name of small letters and underscores, and
// '='), or if the text ends. A value that contains such a sequence is quoted, "..." or '...'.
#ifndef RB_BASE_OPTIONS_H
#define RB_BASE_OPTIONS_H

#include "base/types.h"

#define RB_OPTION_PATH 4096 // with the NUL: PATH_MAX

enum rb_option {
#define RB_OPTION(key, type, ...) RB_OPT_##key,
#include "base/options.def"
#undef RB_OPTION
    RB_OPTIONS
};

#define RB_FIELD_TEXT(key, most)   char key[(most) + 1];
#define RB_FIELD_PATH(key, most)   char key[RB_OPTION_PATH];
#define RB_FIELD_FLAG(key, most)   bool key;
#define RB_FIELD_NUMBER(key, most) uint64_t key;
#define RB_FIELD_SIZE(key, most)   uint64_t key;
#define RB_FIELD_SHARE(key, most)  uint64_t key; // millionths
#define RB_FIELD_REPORT(key, most) \
    bool key;                      \
    char key##_json[RB_OPTION_PATH];
#define RB_FIELD_CHOICE(key, most) uint8_t key;
#define RB_FIELD_STATS(key, most)  RB_FIELD_REPORT(key, most)

// The words of choices, in their order.
enum rb_unseen_option { RB_UNSEEN_ORDER, RB_UNSEEN_IGNORE };
enum rb_partial_option { RB_PARTIAL_LIST, RB_PARTIAL_REPORT };

struct rb_options {
#define RB_OPTION(key, type, standard, low, high, help) RB_FIELD_##type(key, high)
#include "base/options.def"
#undef RB_OPTION
    uint32_t given; // bit i: option i was set by the user
};

// Knowledge that the parser does not have. Both functions may be NULL.
struct rb_options_host {
    void *context;
    // A complaint: one line without its end, free of control characters.
    void (*say)(void *context, const char *line);
    // Returns NULL if the sampler or engine exists, else the expected values ("one of: so su st").
    const char *(*expected)(void *context, enum rb_option option, const char *value);
};

struct rb_option_info {
    const char *name, *help;
};
extern const struct rb_option_info rb_option_info[RB_OPTIONS];

void rb_options_init(struct rb_options *o);

// Sets the options of `text`. `source` is named in complaints ("RAILBIRD_OPTIONS"). A pair that is not
// valid is left out with a complaint; later pairs win. Returns the number of complaints.
unsigned rb_options_parse(struct rb_options *o, const char *text, const char *source,
                          const struct rb_options_host *host);

// Sets the keys of TSAN_OPTIONS that mean the same here, unless ours were given: suppressions,
// halt_on_error, exitcode, log_path, and report_bugs=0 for report=none:exitcode=0. Other keys are ignored.
unsigned rb_options_parse_tsan(struct rb_options *o, const char *text, const struct rb_options_host *host);

// Returns the known key nearest to `name` by edit distance, or NULL if none is near.
const char *rb_option_nearest(const char *name, size_t length);

#endif
