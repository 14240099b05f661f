// The races of many runs: one entry an id, with how often, when, where and by whom it was seen. The first
// record of an id stands for all of them. Also the baseline: races that are known and not news. Tool side.
#ifndef RB_REPORT_RACE_MERGE_H
#define RB_REPORT_RACE_MERGE_H

#include "report/race_record.h"

// What is collected over all records of a race: the key of one record, the key of the merged report, the
// type.
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
#define RB_SET_LIMIT 100 // entries kept of each; a race may be seen by any number of processes

struct rb_race {
    json_t *record; // the first one seen
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
    uint64_t records, suppressed; // counted by whoever adds
};

void rb_race_list_init(struct rb_race_list *races);
void rb_race_list_free(struct rb_race_list *races);
const struct rb_race *rb_race_list_find(const struct rb_race_list *races, const char *id);
// Takes over the reference to `record`, symbolized if it is the first of its id, also on failure, and removes
// its "control".
int rb_race_list_add(struct rb_race_list *races, json_t *record, struct rb_error *e);

// One record without merging, as the live report prints it; it borrows the record. rb_race_free ends it.
int rb_race_single(struct rb_race *race, json_t *record, struct rb_error *e);
void rb_race_free(struct rb_race *race);

// What races are known: by id; and, for other builds of the same program, by place in the source. Ids of one
// build are exact, so where the builds are the same the source does not speak for a race.
struct rb_baseline {
    json_t *ids, *sources; // id -> true; source id -> {builds -> true}
};
int rb_baseline_init(struct rb_baseline *b, struct rb_error *e);
void rb_baseline_free(struct rb_baseline *b);
// A line of a baseline: a race, or an object with an "id" alone.
int rb_baseline_add(struct rb_baseline *b, const char *line, size_t length, const char *place,
                    struct rb_error *e);
// Sets is_new in every race and returns how many are.
size_t rb_baseline_mark(const struct rb_baseline *b, struct rb_race_list *races);

#endif
