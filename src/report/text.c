// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text format of ThreadSanitizer, which people, editors and scripts know: the same order, the same
// words, another name in front. Each report ends with two more lines: its id and its evidence.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cause.h"
#include "report/report.h"

// Prints a text and frees it. Names come from the program, so control characters become '?': they must not
// move the cursor or begin a line.
static void put_text(FILE *out, const char *before, char *text, const char *after)
{
    if (!text)
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    fprintf(out, "%s%s%s", before, text, after);
    free(text);
}

static void put_stack(FILE *out, const json_t *stack, bool verbose)
{
    const json_t *frame;
    char number[32];
    size_t i;

    if (!json_array_size(stack))
        fputs("    [failed to restore the stack]\n", out);
    json_array_foreach(stack, i, frame)
    {
        snprintf(number, sizeof(number), "    #%zu ", i);
        put_text(out, number, rb_words_frame(frame, verbose), "\n");
    }
    fputc('\n', out);
}

static void put_location(FILE *out, const json_t *record, bool verbose)
{
    const json_t *location = json_object_get(record, "location"), *stack = json_object_get(location, "stack");
    const char *kind = rb_member_text(location, "kind");
    const bool on_stack = kind && (!strcmp(kind, "stack") || !strcmp(kind, "tls"));
    char *text = rb_words_location(record);

    if (!text)
        return;
    if (json_array_size(stack)) {
        put_text(out, "  ", text, kind && !strcmp(kind, "fd") ? " at:\n" : ":\n");
        put_stack(out, stack, verbose);
    } else {
        put_text(out, "  ", text, on_stack ? ".\n\n" : "\n\n");
    }
}

static void put_threads(FILE *out, const json_t *record, bool verbose)
{
    const json_t *thread;
    size_t i;

    json_array_foreach(json_object_get(record, "threads"), i, thread)
    {
        const json_t *stack = json_object_get(thread, "stack");
        if (rb_member_int(thread, "id") == 0) // the main thread has no creator
            continue;
        put_text(out, "  ", rb_words_creation(record, thread), json_array_size(stack) ? " at:\n" : "\n\n");
        if (json_array_size(stack))
            put_stack(out, stack, verbose);
    }
}

void rb_report_race_text(FILE *out, const struct rb_race *race, bool has_baseline, bool verbose)
{
    const json_t *accesses = json_object_get(race->record, "accesses");
    const char *sampler = rb_member_text(race->record, "sampler"),
               *candidate = rb_member_text(race->record, "candidate");

    fprintf(out, "==================\n%s (pid=%" JSON_INTEGER_FORMAT ")\n",
            candidate ? "CANDIDATE: Railbird: possible data race" : "WARNING: Railbird: data race",
            rb_member_int(race->record, "pid"));
    for (size_t i = 0; i < 2; i++) {
        put_text(out, "  ", rb_words_access(race->record, i), ":\n");
        put_stack(out, json_object_get(json_array_get(accesses, i), "stack"), verbose);
    }
    put_location(out, race->record, verbose);
    put_threads(out, race->record, verbose);
    put_text(out, candidate ? "CANDIDATE: Railbird: possible " : "SUMMARY: Railbird: ",
             rb_words_summary(race->record, verbose), "\n");
    fprintf(out, "  id %s, evidence: %s", race->id, rb_words_evidence(race->record));
    if (sampler)
        put_text(out, ", sampler ", strdup(sampler), "");
    fputc('\n', out);
    if (candidate)
        put_text(out, "  candidate: ", strdup(candidate), "\n");
    put_text(out, "  ", rb_words_unseen(race->record), "\n");
    put_text(out, "  ", rb_words_seen(race), "\n");
    if (has_baseline)
        fprintf(out, "  %s\n", race->is_new ? "new: not in the baseline" : "known: in the baseline");
    fputs("==================\n", out);
}

#define MOST_NAMED 5u // of the other races of a cause

// Prints the other races of the cause, one on each line.
static void put_others(FILE *out, const struct rb_group *g, bool has_baseline)
{
    if (!g->count)
        return;
    fprintf(out, "Railbird: race %s: and %zu more place%s of the same data and functions:\n", g->shown->id,
            g->count, g->count == 1 ? "" : "s");
    for (size_t i = 0; i < g->count && i < MOST_NAMED; i++) {
        fprintf(out, "  %s: ", g->others[i]->id);
        put_text(out, "", rb_words_pair(g->others[i]->record),
                 !has_baseline          ? "\n"
                 : g->others[i]->is_new ? " (new)\n"
                                        : " (known)\n");
    }
    if (g->count > MOST_NAMED)
        fprintf(out, "  and %zu more; --verbose shows them all\n", g->count - MOST_NAMED);
}

int rb_report_text(FILE *out, const struct rb_report *report, struct rb_error *e)
{
    const struct rb_race_list *races = report->races;
    struct rb_groups groups;
    size_t new = 0;

    if (rb_groups_make(&groups, races, report->verbose, e) < 0)
        return -1;
    for (size_t i = 0; i < groups.count; i++) {
        rb_report_race_text(out, groups.group[i].shown, report->has_baseline, report->verbose);
        put_others(out, &groups.group[i], report->has_baseline);
    }
    for (size_t i = 0; i < races->count; i++)
        new += races->race[i].is_new;
    fprintf(out, "Railbird: %zu race%s", races->count, races->count == 1 ? "" : "s");
    if (groups.count < races->count)
        fprintf(out, " of %zu cause%s", groups.count, groups.count == 1 ? "" : "s");
    fprintf(out, " in %" PRIu64 " record%s", races->records, races->records == 1 ? "" : "s");
    if (report->has_baseline)
        fprintf(out, ", %zu not in the baseline", new);
    if (races->suppressed)
        fprintf(out, ", %" PRIu64 " record%s suppressed", races->suppressed,
                races->suppressed == 1 ? "" : "s");
    fputc('\n', out);
    rb_groups_free(&groups);
    return 0;
}
