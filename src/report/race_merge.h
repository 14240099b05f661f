// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The races of many runs: one entry for each id, with its count, times, hosts and processes. The first
// record of an id stands for all of them. Also the baseline: the set of known races. Tool side.
#ifndef RB_REPORT_RACE_MERGE_H
#define RB_REPORT_RACE_MERGE_H

#include "report/race_record.h"

// The values collected over all records of a race: key of one record, key of the merged report, type.
#define RB_RACE_SETS(X)                    \
    X(PIDS, "pid", "pids", JSON_INTEGER)   \
    X(HOSTS, "host", "hosts", JSON_STRING) \
    X(EVIDENCES, "evidence", "evidences", JSON_STRING)

enum rb_race_set {
#define X(name, one, many, type) RB_SET_##name,
    RB_RACE_SETS(X)
#undef X
        RB_SET_COUNT
};
#define RB_SET_LIMIT 100 // entries kept of each; any number of processes may see a race

struct rb_race {
    json_t *record;                                                // the first one seen
    char id[RB_ID_SIZE], source_id[RB_ID_SIZE], cause[RB_ID_SIZE]; // cause.h
    json_int_t count;
    double first_time, last_time; // NAN if no record said
    json_t *sets[RB_SET_COUNT];   // arrays
    bool is_new;                  // not in the baseline; false without one
};

struct rb_race_list {
    struct rb_race *race;
    size_t count, room;
    json_t *index;                // id -> position
    uint64_t records, suppressed; // the caller counts them
};

void rb_race_list_init(struct rb_race_list *races);
void rb_race_list_free(struct rb_race_list *races);
const struct rb_race *rb_race_list_find(const struct rb_race_list *races, const char *id);
// Takes over the reference to `record`, also on failure, and removes its "control". The first record of an
// id must be symbolized.
int rb_race_list_add(struct rb_race_list *races, json_t *record, struct rb_error *e);

// Puts races of partial evidence behind the others. Nothing is found or added afterwards.
void rb_race_list_end(struct rb_race_list *races);

// Makes a race of one record without merging, for the live report. rb_race_free ends it.
int rb_race_single(struct rb_race *race, json_t *record, struct rb_error *e);
void rb_race_free(struct rb_race *race);

// The known races: by id, and by place in the source for other builds of the same program. Ids are exact
// within one build, so the place in the source counts only if the builds differ.
struct rb_baseline {
    json_t *ids, *sources; // id -> true; source id -> {builds -> true}
};
int rb_baseline_init(struct rb_baseline *b, struct rb_error *e);
void rb_baseline_free(struct rb_baseline *b);
// Adds a line of a baseline: a race, or an object with an "id" alone.
int rb_baseline_add(struct rb_baseline *b, const char *line, size_t length, const char *place,
                    struct rb_error *e);
// Sets is_new in every race and returns the number of new races.
size_t rb_baseline_mark(const struct rb_baseline *b, struct rb_race_list *races);

#endif
