// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics at the end of the program: counts of accesses seen and sampled, and costs, as text for people
// or as one JSON object.
//
// Each process prints its own, from its fork on. A child prints its number, and nothing at all if it did
// nothing that could be counted: most fork to become another program, and some fail to.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/append.h"
#include "inproc/text_buffer.h"
#include "inproc/tool.h"
#include "run/access/history.h"
#include "run/core/footprint.h"
#include "run/core/upcalls.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/objects.h"
#include "run/sync/thread.h"
#include "run/unseen/rmw.h"
#include "run/watchpoint/watchpoints.h"

struct line {
    const char *key, *text;
    uint64_t value;
};

#define MOST_LINES 64

struct lines {
    struct line line[MOST_LINES];
    unsigned count;
};

static void add_line(struct lines *l, const char *key, const char *text, uint64_t value)
{
    if (l->count < MOST_LINES)
        l->line[l->count++] = (struct line){key, text, value};
}

static void add_hooks(struct lines *l)
{
    struct rb_rmw_counts hooks;

    rb_rmw_count(&hooks);
    add_line(l, "unseen_jumps", "atomic instructions there, hooked by a jump", hooks.jumps);
    add_line(l, "unseen_moved", "of them with a move of the instructions behind", hooks.moved);
    add_line(l, "unseen_traps", "atomic instructions there, hooked by an int3", hooks.traps);
    add_line(l, "unseen_given_up", "of them given up, as they ran too often", hooks.given_up);
    add_line(l, "unseen_refused", "atomic instructions there that could not be hooked", hooks.refused);
}

// Returns false if there is nothing to print.
static bool collect_lines(struct lines *l)
{
    struct rb_site_counts sites;
    struct rb_totals t;

    rb_threads_totals(&t);
    if (rb_process.child && !t.rt.accesses && !rb_process.races)
        return false;
#define RB_COUNTER(name, text) add_line(l, #name, text, t.rt.name);
#include "run/core/counters.def"
#undef RB_COUNTER
#define RB_COUNTER(name, text) add_line(l, #name, text, t.engine.name);
#include "engine/counters.def"
#undef RB_COUNTER
    add_hooks(l);
    add_line(l, "threads", "threads", t.threads);
    add_line(l, "most_threads", "threads at once", t.most_threads);
    add_line(l, "objects", "synchronisation objects at the end", rb_objects_count());
    add_line(l, "lost_edges", "orderings that could not be kept (history forgotten each time)",
             rb_process.lost_edges);
    rb_sites_counts(&sites);
    add_line(l, "sites", "call sites that can sleep", sites.sites);
    add_line(l, "sites_awake", "of them awake at the end", sites.awake);
    add_line(l, "sites_refused", "call sites that cannot sleep", sites.refused);
    add_line(l, "gates", "functions with two copies that were entered", sites.gates);
    add_line(l, "gates_open", "of them with the instrumented copy open at the end", sites.open);
    add_line(l, "flips", "times a site was put to sleep or woken", sites.flips);
    if (rb_process.by_cost) {
        struct rb_adaptive_summary a;
        rb_adaptive_summary(&a);
        add_line(l, "budget_ppm", "millionths that sampling may cost (budget=)", (uint64_t)rb_options.budget);
        add_line(l, "cost_ppm", "millionths that it cost, as measured, of what the program itself used",
                 a.cost_ppm);
        add_line(l, "episodes", "times that tracking of synchronisation began", a.episodes);
        add_line(l, "sync_ppm", "millionths that following it cost, of what the program itself used",
                 a.sync_ppm);
        add_line(l, "watch_ppm", "millionths that watchpoints cost, of what the program itself used",
                 a.watch_ppm);
        add_line(l, "whole_windows", "windows in which every site was awake", a.windows);
        add_line(l, "whole_sampled", "accesses sampled in them", a.in_windows);
        add_line(l, "accesses_estimated", "accesses of the program, estimated (0: not known)", a.accesses);
        add_line(l, "whole_ppb", "billionths of those that windows looked at", a.window_ppb);
        add_line(
            l, "seen_at_95",
            "times that a race must have its accesses in one window's reach to be seen with probability 95 %"
            " (0: not known)",
            a.window_ppb ? 2995732274 / a.window_ppb + 1 : 0); // -ln 0.05 over the share
    }
    add_line(l, "stacks_dropped", "stacks that had no room", rb_stack_dropped());
    add_line(l, "reported", "races reported", rb_process.races);
    add_line(l, "suppressed", "races suppressed", rb_process.suppressed);
    if (!rb_host.sandboxed) { // else no system call is allowed
        const struct rb_footprint footprint = rb_footprint();
        add_line(l, "memory_used", "bytes of memory that the runtime has taken",
                 footprint.resident + rb_stack_bytes());
        add_line(l, "memory_mapped", "bytes of address space that it has",
                 footprint.mapped + rb_options.memory / 8);
    }
    add_line(l, "memory_limit", "bytes it was allowed (memory=), without the amount a thread",
             rb_options.memory);
    return true;
}

static void write_text(struct rb_text *t, const struct lines *l)
{
    rb_put(t, "Railbird: engine ");
    rb_put(t, rb_process.ops->name);
    rb_put(t, ", sampler ");
    rb_put(t, rb_options.sampler);
    if (rb_process.child) {
        rb_put(t, ", child process ");
        rb_put_number(t, rb_process.pid);
    }
    rb_put(t, "\n");
    for (unsigned i = 0; i < l->count; i++) {
        rb_put(t, "  ");
        rb_put_number(t, l->line[i].value);
        rb_put_char(t, ' ');
        rb_put(t, l->line[i].text);
        rb_put_char(t, '\n');
    }
    if (rb_watchpoints_missing()) {
        rb_put(t, "  watchpoints: not available: ");
        rb_put(t, rb_watchpoints_missing());
        rb_put_char(t, '\n');
    }
}

static void write_json(struct rb_text *t, const struct lines *l)
{
    rb_put(t, "{\"pid\":");
    rb_put_number(t, rb_process.pid);
    rb_put(t, ",\"engine\":");
    rb_put_string(t, rb_process.ops->name);
    rb_put(t, ",\"sampler\":");
    rb_put_string(t, rb_options.sampler);
    for (unsigned i = 0; i < l->count; i++) {
        rb_put_char(t, ',');
        rb_put_string(t, l->line[i].key);
        rb_put_char(t, ':');
        rb_put_number(t, l->line[i].value);
    }
    if (rb_watchpoints_missing()) {
        rb_put(t, ",\"watchpoints_missing\":");
        rb_put_string(t, rb_watchpoints_missing());
    }
    rb_put(t, "}\n");
}

void rb_stats_say_dropped(void)
{
    struct rb_totals totals;
    char line[256];
    struct rb_text t;

    if (!rb_accesses_has_dropped())
        return;
    rb_threads_totals(&totals);
    if (!totals.rt.dropped)
        return;
    rb_text_init(&t, line, sizeof(line));
    rb_put(&t, "Railbird: ");
    rb_put_number(&t, totals.rt.dropped);
    rb_put(&t, " entries, for ");
    rb_put_number(&t, totals.rt.sampled);
    rb_put(&t, " sampled accesses, were dropped from the history for want of memory (memory=");
    if (rb_options.memory >> 20 << 20 == rb_options.memory) {
        rb_put_number(&t, rb_options.memory >> 20);
        rb_put_char(&t, 'M');
    } else {
        rb_put_number(&t, rb_options.memory);
    }
    rb_put(&t, "): races may be missed\n");
    rb_say(t.start, (size_t)(t.at - t.start));
}

void rb_stats_print(void)
{
    static char buffer[16384];
    static struct lines lines;
    struct rb_text t;

    if (!rb_options.stats && !rb_options.stats_json[0])
        return;
    lines.count = 0;
    if (!collect_lines(&lines))
        return;
    rb_text_init(&t, buffer, sizeof(buffer));
    if (rb_options.stats_json[0] && !rb_host.sandboxed) {
        write_json(&t, &lines);
        const int fd = rb_append_open(rb_options.stats_json);
        if (fd >= 0) {
            rb_append(fd, rb_options.stats_json, t.start, (size_t)(t.at - t.start));
            syscall(SYS_close, fd);
        }
    }
    if (rb_options.stats) {
        rb_text_init(&t, buffer, sizeof(buffer));
        write_text(&t, &lines);
        rb_say(t.start, (size_t)(t.at - t.start));
    }
}
