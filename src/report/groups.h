// The races of a report by cause (cause.h): each cause has the race that is shown, and others that are
// counted and named. Tool side.
#ifndef RB_REPORT_GROUPS_H
#define RB_REPORT_GROUPS_H

#include <stdio.h>

#include "report/race_merge.h"

struct rb_group {
    const struct rb_race *shown;   // the first that is new, else the first
    const struct rb_race **others; // in the order of the report
    size_t count;                  // of them
    json_int_t seen;               // records of all
};

struct rb_groups {
    struct rb_group *group; // in the order of their first races
    size_t count;
    const struct rb_race **races; // where `others` are
};

// Groups the races; with `apart` each is a group of its own. Candidates and races are never in one group.
int rb_groups_make(struct rb_groups *g, const struct rb_race_list *races, bool apart, struct rb_error *e);
void rb_groups_free(struct rb_groups *g);

// "write in add at counter.h:7, read in report at report.cc:44"; for free(), NULL when memory is out.
char *rb_words_pair(const json_t *record);

#endif
