// The four formats. All take races that are symbolized and merged, and only write. JSON has every race; the
// others show one of a cause (groups.h) and name the rest. Tool side.
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

// Prints one race as ThreadSanitizer would; `is_new` is said only if there is a baseline.
void rb_report_race_text(FILE *out, const struct rb_race *race, bool has_baseline, bool verbose);
int rb_report_text(FILE *out, const struct rb_report *report, struct rb_error *e);

// A race as one object: id, what merging found, then the record. NULL when memory is out.
json_t *rb_report_race_json(const struct rb_race *race, bool has_baseline);
// One line and its end for a record as it came, with its id and without "control"; for free().
char *rb_report_single_json(const struct rb_race *race, size_t *length);
int rb_report_json(FILE *out, const struct rb_report *report, struct rb_error *e);

// Static Analysis Results Interchange Format 2.1.0, for code-scanning services and editors.
int rb_report_sarif(FILE *out, const struct rb_report *report, struct rb_error *e);

// One page that needs nothing from elsewhere.
int rb_report_html(FILE *out, const struct rb_report *report, struct rb_error *e);

#endif
