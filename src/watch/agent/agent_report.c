// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a pair to a report: the same record as the runtime's reports (docs/reference/reports.md), handed to the tool,
// which symbolizes outside this process. Also the summary at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/append.h"
#include "base/pages.h"
#include "inproc/host.h"
#include "inproc/modules.h"
#include "inproc/tool.h"
#include "watch/agent/agent.h"

#define TEXT_BYTES ((size_t)1 << 20)

static char *report_buffer(void)
{
    static char *text;

    if (!text)
        text = rb_pages_map(TEXT_BYTES);
    return text;
}

static void put_place(struct rb_text *t, const struct rb_module *m, uintptr_t address)
{
    rb_put(t, "\"module\":");
    rb_put_string(t, m->path);
    if (m->build_id[0]) {
        rb_put(t, ",\"build_id\":");
        rb_put_string(t, m->build_id);
    }
    rb_put(t, ",\"offset\":\"");
    rb_put_hex(t, address - m->bias);
    rb_put_char(t, '"');
}

static void put_stack(struct rb_text *t, const struct rb_trail *trail)
{
    struct rb_module m;

    rb_put(t, "\"stack\":[");
    for (uint32_t i = 0; i < trail->count; i++) {
        rb_put(t, i ? ",{" : "{");
        if (rb_module_of(trail->pc[i], &m)) {
            put_place(t, &m, trail->pc[i]);
        } else {
            rb_put(t, "\"address\":\"");
            rb_put_hex(t, trail->pc[i]);
            rb_put_char(t, '"');
        }
        rb_put_char(t, '}');
    }
    rb_put_char(t, ']');
}

static void put_access(struct rb_text *t, const struct rb_side *s, bool write)
{
    rb_put(t, "{\"op\":");
    rb_put_string(t, write ? "write" : "read");
    rb_put(t, ",\"atomic\":");
    rb_put(t, s->flags & RB_CODE_LOCKED ? "true" : "false");
    rb_put(t, ",\"size\":");
    rb_put_number(t, s->size);
    rb_put(t, ",\"address\":\"");
    rb_put_hex(t, s->address);
    rb_put(t, "\",\"thread\":");
    rb_put_number(t, s->thread);
    rb_put_char(t, ',');
    put_stack(t, &s->stack);
    rb_put_char(t, '}');
}

// Reads the thread's name from the kernel, while it runs. Returns false if it is gone.
static bool name_of(int32_t os_id, char name[17])
{
    char path[64];
    struct rb_text t;

    name[0] = 0;
    rb_text_init(&t, path, sizeof(path) - 1);
    rb_put(&t, "/proc/self/task/");
    rb_put_number(&t, (uint64_t)os_id);
    rb_put(&t, "/comm");
    *t.at = 0;
    const long fd = syscall(SYS_openat, (long)AT_FDCWD, path, (long)(O_RDONLY | O_CLOEXEC), 0L);
    if (fd < 0)
        return false;
    const long n = syscall(SYS_read, fd, name, 16L);
    syscall(SYS_close, fd);
    name[n > 0 ? n : 0] = 0;
    for (char *c = name; *c; c++)
        if (*c == '\n')
            *c = 0;
    return true;
}

static void put_thread(struct rb_text *t, const struct rb_side *s)
{
    char name[17];
    const bool runs = name_of(s->os_id, name);

    rb_put(t, "{\"id\":");
    rb_put_number(t, s->thread);
    rb_put(t, ",\"os_id\":");
    rb_put_number(t, (uint64_t)s->os_id);
    if (name[0]) {
        rb_put(t, ",\"name\":");
        rb_put_string(t, name);
    }
    rb_put(t, ",\"running\":");
    rb_put(t, runs ? "true" : "false");
    if (s->parent != RB_NO_THREAD) {
        rb_put(t, ",\"created_by\":");
        rb_put_number(t, s->parent);
        rb_put_char(t, ',');
        put_stack(t, &s->created);
    }
    rb_put_char(t, '}');
}

static void put_location(struct rb_text *t, uintptr_t address)
{
    const uint32_t owner = rb_thread_of(address);
    struct rb_module m;

    rb_put(t, "\"location\":{");
    if (owner != RB_NO_THREAD) {
        rb_put(t, "\"kind\":\"stack\",\"thread\":");
        rb_put_number(t, owner);
    } else if (rb_module_of(address, &m)) {
        rb_put(t, "\"kind\":\"global\",");
        put_place(t, &m, address);
    } else {
        rb_put(t, "\"kind\":\"unknown\"");
    }
    rb_put_char(t, '}');
}

static const char *const words[] = {
    [RB_VERDICT_CHANGED] =
        "the value changed while the thread stood before its access, and nobody was caught writing",
    [RB_VERDICT_CLOCK] =
        "neither thread synchronised between the two by a function of libc; atomic loads and stores "
        "are not seen in a program that was built without Railbird",
    [RB_VERDICT_MOVES] =
        "both at the same time, but neither is of a form that only plain accesses have: atomic loads and "
        "stores are plain moves too",
};

static void put_head(struct rb_text *t, const struct rb_pair *p)
{
    static const char *const modes[] = {"", "clock", "collide", "both"};
    struct utsname host;

    rb_put(t, p->verdict == RB_VERDICT_CLOCK ? "{\"evidence\":\"clock\"" : "{\"evidence\":\"collision\"");
    if (p->verdict != RB_VERDICT_CONFIRMED) {
        rb_put(t, ",\"candidate\":");
        rb_put_string(t, words[p->verdict]);
    }
    rb_put(t, ",\"pid\":");
    rb_put_number(t, (uint64_t)getpid());
    rb_put(t, ",\"host\":");
    rb_put_string(t, uname(&host) ? "" : host.nodename);
    rb_put(t, ",\"time\":");
    rb_put_parts(t, rb_agent_clock(CLOCK_REALTIME) / 1000000u, 3);
    rb_put(t, ",\"sampler\":\"watch\",\"engine\":");
    rb_put_string(t, modes[rb_agent.mode]);
    rb_put(t, ",\"program\":");
    rb_put_string(t, rb_program_path());
}

// Puts the record. An instruction that reads and writes has both flags; the write tells more.
static void put_record(struct rb_text *t, const struct rb_pair *p)
{
    const struct rb_side *later = &p->side[0], *earlier = &p->side[1];
    const bool known = p->verdict != RB_VERDICT_CHANGED;
    struct rb_side nobody = {.thread = RB_NO_THREAD, .address = earlier->address, .size = earlier->size};

    put_head(t, p);
    rb_put(t, ",\"accesses\":[");
    put_access(t, known ? later : &nobody, known ? later->writes : true);
    rb_put_char(t, ',');
    put_access(t, earlier, earlier->writes);
    rb_put(t, "],");
    put_location(t, earlier->address);
    rb_put(t, ",\"threads\":[");
    if (known) {
        put_thread(t, later);
        rb_put_char(t, ',');
    }
    put_thread(t, earlier);
    rb_put(t, "]}\n");
}

// Puts the facts known inside the process, as text, for processes without the tool.
static void put_plain(struct rb_text *t, const struct rb_pair *p)
{
    rb_put(t, "==================\nWARNING: Railbird: data race (pid=");
    rb_put_number(t, (uint64_t)getpid());
    rb_put(t, ")\n");
    for (int i = 0; i < 2; i++) {
        const struct rb_side *s = &p->side[i];
        rb_put(t, s->writes ? "  write of size " : "  read of size ");
        rb_put_number(t, s->size);
        rb_put(t, " at ");
        rb_put_hex(t, s->address);
        rb_put(t, " by thread T");
        rb_put_number(t, s->thread);
        rb_put(t, ":\n");
        for (uint32_t k = 0; k < s->stack.count; k++) {
            struct rb_module m;
            rb_put(t, "    #");
            rb_put_number(t, k);
            rb_put_char(t, ' ');
            rb_put_hex(t, s->stack.pc[k]);
            if (rb_module_of(s->stack.pc[k], &m)) {
                rb_put(t, " (");
                rb_put(t, m.path);
                rb_put_char(t, '+');
                rb_put_hex(t, s->stack.pc[k] - m.bias);
                rb_put_char(t, ')');
            }
            rb_put_char(t, '\n');
        }
    }
    rb_put(t, "==================\n");
}

void rb_report_pair(const struct rb_pair *p)
{
    struct rb_text t;
    char *text = report_buffer();

    if (!text)
        return;
    rb_text_init(&t, text, TEXT_BYTES);
    put_record(&t, p);
    switch (t.full ? RB_TOOL_MISSING : rb_tool_report(t.start, (size_t)(t.at - t.start))) {
    case RB_TOOL_REPORTED:
        RB_COUNTED(confirmed);
        break;
    case RB_TOOL_SUPPRESSED:
        RB_COUNTED(suppressed);
        return;
    case RB_TOOL_MISSING:
        RB_COUNTED(confirmed);
        rb_tool_keep(t.start, (size_t)(t.at - t.start));
        if (!rb_options.report)
            break;
        rb_text_init(&t, text, TEXT_BYTES);
        put_plain(&t, p);
        rb_say(t.start, (size_t)(t.at - t.start));
        break;
    }
}

void rb_report_candidates(const struct rb_pair *list, const bool *wanted, unsigned count)
{
    struct rb_text t;
    char *text = report_buffer();

    if (!text)
        return;
    rb_text_init(&t, text, TEXT_BYTES);
    for (unsigned i = 0; i < count; i++) {
        char *before = t.at;
        if (!wanted[i])
            continue;
        put_record(&t, &list[i]);
        if (t.full) { // whole lines alone
            t.at = before;
            break;
        }
    }
    const size_t bytes = (size_t)(t.at - t.start);
    if (bytes && rb_tool_report(t.start, bytes) ==
                     RB_TOOL_MISSING) // as races; `candidate` in the record marks them as none
        rb_tool_keep(t.start, bytes);
}

// ---- the end -------------------------------------------------------------------------------------------

static void put_share(struct rb_text *t, double share)
{
    rb_put_parts(t, (uint64_t)(share * 10000 + 0.5), 2);
}

static void put_line(struct rb_text *t)
{
    rb_put(t, "Railbird: watch: ");
    if (rb_agent_missing) {
        rb_put(t, "stopped: ");
        rb_put(t, rb_agent_missing);
        rb_put(t, "; ");
    }
    rb_put_number(t, rb_counts.samples);
    rb_put(t, " samples, ");
    rb_put_number(t, rb_counts.armed);
    rb_put(t, " breakpoints, ");
    rb_put_number(t, rb_counts.hits);
    rb_put(t, " hits: ");
    rb_put_number(t, rb_counts.confirmed);
    rb_put(t, rb_counts.confirmed == 1 ? " race confirmed, " : " races confirmed, ");
    rb_put_number(t, rb_counts.candidates);
    rb_put(t, rb_counts.candidates == 1 ? " candidate" : " candidates");
    rb_put(t, rb_counts.candidates && !rb_agent.candidates ? " (--candidates lists them); cost " : "; cost ");
    put_share(t, rb_agent_cost());
    rb_put(t, " %\n");
}

static void put_json(struct rb_text *t)
{
    rb_put(t, "{\"pid\":");
    rb_put_number(t, (uint64_t)getpid());
#define RB_COUNT(name, text)      \
    rb_put(t, ",\"" #name "\":"); \
    rb_put_number(t, rb_counts.name);
#include "watch/agent/agent_counts.def"
#undef RB_COUNT
    rb_put(t, ",\"cost_percent\":");
    put_share(t, rb_agent_cost());
    if (rb_agent_missing) {
        rb_put(t, ",\"missing\":");
        rb_put_string(t, rb_agent_missing);
    }
    rb_put(t, "}\n");
}

void rb_agent_summary(void)
{
    char text[4096];
    struct rb_text t;

    if (rb_options.stats_json[0]) {
        rb_text_init(&t, text, sizeof(text));
        put_json(&t);
        const int fd = rb_append_open(rb_options.stats_json);
        if (fd >= 0) {
            rb_append(fd, rb_options.stats_json, t.start, (size_t)(t.at - t.start));
            syscall(SYS_close, fd);
        }
    }
    if (!rb_options.stats && !(rb_options.report && (rb_counts.candidates || rb_counts.confirmed)))
        return;
    rb_text_init(&t, text, sizeof(text));
    put_line(&t);
    if (rb_options.stats) {
#define RB_COUNT(name, text)           \
    rb_put(&t, "  ");                  \
    rb_put_number(&t, rb_counts.name); \
    rb_put(&t, " " text "\n");
#include "watch/agent/agent_counts.def"
#undef RB_COUNT
    }
    rb_say(t.start, (size_t)(t.at - t.start));
}
