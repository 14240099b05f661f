// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of a report: a filter, and a line for each race; behind each line are both stacks side by side
// with the source around their frames. The page has its style and a few lines of script, and a policy
// forbids everything else. Without the script all races are visible. Every string of the report goes
// through put_text() or put_source_text().
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/cause.h"
#include "report/page.h"
#include "report/report.h"
#include "report/symbols/symbols.h"

#define AROUND     3u                // lines of source before and after
#define FULL_BYTES ((size_t)4 << 20) // of races with all stacks; later races have their first frames only
#define MOST_NAMED 100u              // of the other races of a cause

static const char style[] =
    ":root{--mark:#fbe3d0;--new:#b3470a}\n"
    "@media (prefers-color-scheme:dark){:root{--mark:#4a2a14;--new:#f08340}}\n"
    "body{max-width:90rem}h2{font-size:1rem;margin:.6rem 0 .2rem}\n"
    "code,pre,.mono{font:13px/1.45 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}\n"
    "form{display:flex;flex-wrap:wrap;gap:.6rem 1.2rem;align-items:center;margin:1rem "
    "0;position:sticky;top:0;"
    "background:var(--bg);padding:.5rem 0;border-bottom:1px solid var(--line);z-index:1}\n"
    "input[type=search]{flex:1 1 20rem;max-width:40rem;font:inherit;padding:.3rem .6rem;color:inherit;"
    "background:var(--soft);border:1px solid var(--line);border-radius:4px}\n"
    ".row{display:grid;grid-template-columns:minmax(12rem,1.3fr) minmax(12rem,1.3fr) minmax(9rem,1fr) 8rem "
    "5rem;"
    "gap:0 1rem;padding:.35rem .3rem}\n"
    ".row>*{min-width:0;overflow-wrap:anywhere}.row small{display:block;color:var(--muted)}\n"
    ".head{font-weight:600;border-bottom:1px solid var(--ink);padding-left:1.2rem}\n"
    ".race{border-bottom:1px solid "
    "var(--line)}.race>summary{cursor:pointer;list-style:none;padding-left:1.2rem;"
    "position:relative}\n"
    ".race>summary::-webkit-details-marker{display:none}\n"
    ".race>summary::before{content:'\\25b8';position:absolute;left:.2rem;top:.35rem;color:var(--muted)}\n"
    ".race[open]>summary::before{content:'\\25be'}.race>summary:hover,.race[open]>summary{background:var(--"
    "soft)}\n"
    ".new{color:var(--new);font-weight:600}.count{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".body{padding:.4rem 0 1.4rem 1.2rem}\n"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr));gap:0 2rem}\n"
    ".two>*{min-width:0}\n"
    "ol{list-style:none;margin:0;padding:0}li{margin:.15rem 0;overflow-wrap:anywhere}\n"
    "li summary{cursor:pointer}li.plain{padding-left:1.05rem}\n"
    ".at{color:var(--muted)}.module{color:var(--muted);font-size:.85em}\n"
    "pre{margin:.2rem 0 .5rem;padding:.3rem .5rem;overflow-x:auto;background:var(--soft);"
    "border-left:3px solid var(--line)}pre .hit{background:var(--mark);display:inline-block;min-width:100%}\n"
    ":focus-visible{outline:2px solid #2f8fc4;outline-offset:2px}\n"
    "@media (max-width:55rem){.head{display:none}.row{grid-template-columns:1fr}.count{text-align:left}}\n"
    "@media print{form{display:none}.race{break-inside:avoid}}\n";

// The filter shows a race if its text contains all words, in any case of letters.
static const char script[] =
    "(function(){var f=document.getElementById('filter'),q=document.getElementById('q'),"
    "n=document.getElementById('new'),left=document.getElementById('left'),"
    "all=[].slice.call(document.querySelectorAll('.race'));"
    "var texts=all.map(function(r){return r.textContent.toLowerCase()});"
    "function go(){var words=q.value.toLowerCase().split(/\\s+/),shown=0;"
    "all.forEach(function(r,i){var ok=words.every(function(w){return texts[i].indexOf(w)>=0})&&"
    "(!n||!n.checked||r.hasAttribute('data-new'));r.hidden=!ok;shown+=ok});"
    "left.textContent=shown==all.length?'':shown+' shown'}"
    "f.hidden=false;f.onsubmit=function(){return false};q.oninput=go;if(n)n.onchange=go;"
    "function open(){var "
    "r=document.getElementById(location.hash.slice(1));if(r&&r.tagName=='DETAILS')r.open=true}"
    "window.onhashchange=open;open()})();\n";

// ---- text ----------------------------------------------------------------------------------------------

static void put_byte(FILE *out, char c)
{
    const bool control = ((unsigned char)c < ' ' && c != '\t') || c == 127;

    if (!rb_html_special(out, c))
        fputc(control ? '?' : c, out);
}

// Writes text between tags or in a quoted attribute. jansson makes sure that the report's strings are
// UTF-8.
static void put_text(FILE *out, const char *words)
{
    while (words && *words)
        put_byte(out, *words++);
}

// Writes a text and frees it.
static void put_owned_text(FILE *out, char *words)
{
    put_text(out, words);
    free(words);
}

// Writes a line of source, which may be in any encoding: without UTF-8, bytes above ASCII become '?'.
static void put_source_text(FILE *out, const struct rb_line *line)
{
    json_t *check = json_stringn(line->text, line->length);

    for (size_t i = 0; i < line->length; i++)
        put_byte(out, check || (unsigned char)line->text[i] < 0x80 ? line->text[i] : '?');
    json_decref(check);
}

// ---- frames --------------------------------------------------------------------------------------------

struct page {
    FILE *out;
    const struct rb_report *report;
    struct rb_sources sources;
    json_t *shown; // "file:line" of the source that is in the page already
    size_t bytes;  // of the races so far
    size_t brief;  // races without stacks
};

static void put_frame(FILE *out, size_t number, const json_t *frame)
{
    const char *function = rb_member_text(frame, "function"), *module = rb_member_text(frame, "module"),
               *note = rb_member_text(frame, "note");
    char *place = rb_words_place(frame, false, true);

    fprintf(out, "<span class=\"mono\">#%zu ", number);
    put_text(out, function ? function : "unknown function");
    fputs("</span> <span class=\"at\" title=\"", out);
    put_text(out, rb_member_text(frame, "file"));
    fputs("\">", out);
    put_text(out, place);
    fputs("</span> <span class=\"module\" title=\"", out);
    put_text(out, module);
    fputs("\">", out);
    put_text(out, module ? rb_base_name(module) : NULL);
    fprintf(out, "%s0x%" PRIx64, module ? "+" : "", rb_member_hex(frame, module ? "offset" : "address"));
    if (json_is_true(json_object_get(frame, "inlined")))
        fputs(", inlined", out);
    if (note) {
        fputs(", ", out);
        put_text(out, note);
    }
    fputs("</span>", out);
    free(place);
}

// Returns true if this source is to be written: once, but always at the place of a race.
static bool is_wanted(struct page *p, const char *file, size_t line, bool open)
{
    char key[4200];

    snprintf(key, sizeof(key), "%.4100s:%zu", file, line);
    const bool known = json_object_get(p->shown, key) != NULL;
    json_object_set_new(p->shown, key, json_true());
    return open || !known;
}

// Writes a frame with the source around it. Returns false if the source is not available.
static bool put_source(struct page *p, const json_t *frame, bool open, size_t number)
{
    const char *file = rb_member_text(frame, "file");
    const size_t line = (size_t)rb_member_int(frame, "line"), first = line > AROUND ? line - AROUND : 1;
    struct rb_line lines[2 * AROUND + 1];
    const size_t count =
        file && line ? rb_source_lines(&p->sources, file, first, line + AROUND - first + 1, lines) : 0;

    if (!count || first + count <= line || !is_wanted(p, file, line, open))
        return false;
    fprintf(p->out, "<li><details%s><summary>", open ? " open" : "");
    put_frame(p->out, number, frame);
    fputs("</summary><pre>", p->out);
    for (size_t i = 0; i < count; i++) {
        fprintf(p->out, "%s%5zu  ", first + i == line ? "<span class=\"hit\">" : "", first + i);
        put_source_text(p->out, &lines[i]);
        fputs(first + i == line ? "</span>\n" : "\n", p->out);
    }
    fputs("</pre></details></li>\n", p->out);
    return true;
}

static void put_stack(struct page *p, const json_t *frames, bool open_first)
{
    const json_t *frame;
    size_t i;

    if (p->bytes > FULL_BYTES) {
        fputs("<ol><li class=\"plain\">", p->out);
        put_frame(p->out, 0, json_array_get(frames, 0));
        fputs("</li></ol>\n", p->out);
        return;
    }

    fputs("<ol>\n", p->out);
    json_array_foreach(frames, i, frame)
    {
        if (put_source(p, frame, open_first && i == 0, i))
            continue;
        fputs("<li class=\"plain\">", p->out);
        put_frame(p->out, i, frame);
        fputs("</li>\n", p->out);
    }
    fputs("</ol>\n", p->out);
    if (!json_array_size(frames))
        fputs("<p class=\"muted\">No stack was kept.</p>\n", p->out);
}

// ---- races ---------------------------------------------------------------------------------------------

static void put_section(struct page *p, char *title, const json_t *frames, bool open_first)
{
    fputs("<section><h2>", p->out);
    put_owned_text(p->out, title);
    fputs("</h2>\n", p->out);
    if (frames)
        put_stack(p, frames, open_first);
    fputs("</section>\n", p->out);
}

static void put_others(struct page *p, const struct rb_group *g);

static void put_details(struct page *p, const struct rb_race *race, const struct rb_group *g)
{
    const json_t *record = race->record, *accesses = json_object_get(record, "accesses"),
                 *location = json_object_get(record, "location"), *thread;
    const char *program = rb_member_text(record, "program"), *sampler = rb_member_text(record, "sampler");
    char *words = rb_words_location(record);
    size_t i;

    fputs("<div class=\"body\">\n<div class=\"two\">\n", p->out);
    for (i = 0; i < 2; i++)
        put_section(p, rb_words_access(record, i), json_object_get(json_array_get(accesses, i), "stack"),
                    true);
    fputs("</div>\n<div class=\"two\">\n", p->out);
    if (words)
        put_section(p, words, json_object_get(location, "stack"), false);
    json_array_foreach(json_object_get(record, "threads"), i, thread)
    {
        if (rb_member_int(thread, "id"))
            put_section(p, rb_words_creation(record, thread), json_object_get(thread, "stack"), false);
    }
    fputs("</div>\n", p->out);
    put_others(p, g);
    fputs("<p class=\"muted\">id <code>", p->out);
    put_text(p->out, race->id);
    fprintf(p->out, "</code>, evidence: %s", rb_words_evidence(record));
    if (sampler) {
        fputs(", sampler ", p->out);
        put_text(p->out, sampler);
    }
    if (program) {
        fputs(", program ", p->out);
        put_text(p->out, program);
    }
    words = rb_words_unseen(record);
    if (words) {
        fputs("; ", p->out);
        put_owned_text(p->out, words);
    }
    words = rb_words_seen(race);
    if (words) {
        fputs("; ", p->out);
        put_owned_text(p->out, words);
    }
    fputs("</p>\n</div>\n", p->out);
}

// Writes a cell of the line: the function, and below it the place.
static void put_access_cell(FILE *out, const json_t *record, size_t access)
{
    const json_t *top = rb_race_top(record, access),
                 *a = json_array_get(json_object_get(record, "accesses"), access);
    const char *function = rb_member_text(top, "function"), *module = rb_member_text(top, "module");
    char *place = rb_words_place(top, false, false);

    fputs("<span><span class=\"mono\">", out);
    put_text(out, function ? function : module ? rb_base_name(module) : "unknown function");
    fputs("</span><small>", out);
    put_text(out, rb_member_text(a, "op"));
    fputs(place ? " at " : "", out);
    put_text(out, place);
    fputs("</small></span>", out);
    free(place);
}

static void put_data_cell(FILE *out, const json_t *record)
{
    const json_t *location = json_object_get(record, "location");
    const char *name = rb_member_text(location, "name"), *kind = rb_member_text(location, "kind");
    const bool block = kind && !strcmp(kind, "heap");

    fputs("<span>", out);
    put_text(out, name ? name : kind ? kind : "unknown");
    if (block)
        fprintf(out, "<small>%" JSON_INTEGER_FORMAT " bytes</small>", rb_member_int(location, "size"));
    fputs("</span>", out);
}

// Writes the other races of the cause.
static void put_others(struct page *p, const struct rb_group *g)
{
    if (!g->count)
        return;
    fprintf(p->out, "<section><h2>And %zu more place%s of the same data and functions</h2>\n<ol>\n", g->count,
            g->count == 1 ? "" : "s");
    for (size_t i = 0; i < g->count && i < MOST_NAMED; i++) {
        fputs("<li class=\"plain\">", p->out);
        put_owned_text(p->out, rb_words_pair(g->others[i]->record));
        fprintf(p->out, " <code>%s</code></li>\n", g->others[i]->id);
    }
    if (g->count > MOST_NAMED)
        fprintf(p->out, "<li class=\"plain\">and %zu more</li>\n", g->count - MOST_NAMED);
    fputs("</ol></section>\n", p->out);
}

static void put_race(struct page *p, const struct rb_group *g)
{
    const struct rb_race *race = g->shown;
    FILE *out = p->out;

    fprintf(out, "<details class=\"race\" id=\"%s\"%s><summary class=\"row\">", race->id,
            race->is_new ? " data-new" : "");
    put_access_cell(out, race->record, 0);
    put_access_cell(out, race->record, 1);
    put_data_cell(out, race->record);
    fprintf(out, "<span>%s%s</span><span class=\"count\">%" JSON_INTEGER_FORMAT "</span></summary>\n",
            rb_words_evidence(race->record), race->is_new ? " <span class=\"new\">new</span>" : "", g->seen);
    put_details(p, race, g);
    fputs("</details>\n", out);
}

// Writes a race and counts its bytes: a very large page is useless.
static int put_group(struct page *p, const struct rb_group *g, struct rb_error *e)
{
    FILE *page = p->out;
    char *written = NULL;
    size_t size = 0;

    p->out = open_memstream(&written, &size);
    if (p->out)
        put_race(p, g);
    if (!p->out || fclose(p->out) || !written) {
        p->out = page;
        free(written);
        return rb_internal(e, "out of memory for HTML");
    }
    p->out = page;
    p->brief += p->bytes > FULL_BYTES;
    p->bytes += size;
    fwrite(written, 1, size, page);
    free(written);
    return 0;
}

// ---- page ----------------------------------------------------------------------------------------------

static void put_summary(FILE *out, const struct rb_report *report, const struct rb_groups *groups)
{
    const struct rb_race_list *races = report->races;
    size_t new = 0;

    for (size_t i = 0; i < races->count; i++)
        new += races->race[i].is_new;
    fprintf(out, "<header>\n<h1>%zu data race%s</h1>\n<p>Seen in %" PRIu64 " record%s", races->count,
            races->count == 1 ? "" : "s", races->records, races->records == 1 ? "" : "s");
    if (groups->count < races->count)
        fprintf(out, "; %zu cause%s", groups->count, groups->count == 1 ? "" : "s");
    if (report->has_baseline)
        fprintf(out, "; %zu not in the baseline", new);
    if (races->suppressed)
        fprintf(out, "; %" PRIu64 " suppressed", races->suppressed);
    fputs(".</p>\n</header>\n", out);
    fputs(
        "<form id=\"filter\" hidden><label>Functions, files, threads, ids: <input type=\"search\" id=\"q\"></label>",
        out);
    if (report->has_baseline)
        fputs("<label><input type=\"checkbox\" id=\"new\"> new only</label>", out);
    fputs("<span id=\"left\" class=\"muted\" role=\"status\"></span></form>\n", out);
}

int rb_report_html(FILE *out, const struct rb_report *report, struct rb_error *e)
{
    const struct rb_html_head head = {
        .title = "Railbird: data races",
        .version = report->version,
        .policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
        .style = style,
    };
    struct page p = {.out = out, .report = report, .shown = json_object()};
    struct rb_groups groups;
    int status = rb_groups_make(&groups, report->races, false, e);

    if (status < 0) {
        json_decref(p.shown);
        return status;
    }
    rb_html_begin_styled(out, &head);
    put_summary(out, report, &groups);
    fputs("<main>\n", out);
    if (groups.count)
        fputs("<div class=\"row head\"><span>access</span><span>earlier access</span><span>to</span>"
              "<span>evidence</span><span class=\"count\">seen</span></div>\n",
              out);
    for (size_t i = 0; status == 0 && i < groups.count; i++)
        status = put_group(&p, &groups.group[i], e);
    if (p.brief)
        fprintf(
            out,
            "<p class=\"muted\">The stacks of the last %zu are left out but for their first frames.</p>\n",
            p.brief);
    fprintf(out, "</main>\n<script>\n%s</script>\n", script);
    rb_html_end(out);
    rb_sources_free(&p.sources);
    rb_groups_free(&groups);
    json_decref(p.shown);
    return status;
}
