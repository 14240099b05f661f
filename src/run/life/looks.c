// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of the program and the looks at each, written to a file at the end (looks=). It tells which
// code a run has not examined: a race with a side that was never looked at cannot have been found.
//
// A line a site: module's build-id, offset of the call's return address in hex, calls that were taken.
#include "run/core/upcalls.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/append.h"
#include "inproc/modules.h"
#include "inproc/text_buffer.h"
#include "run/core/rt.h"
#include "run/sites/sites.h"

#define LINE_BYTES 128u // of the longest line: a build-id of 64 digits, and two numbers

static void write_text(int fd, struct rb_text *t)
{
    if (t->at != t->start)
        rb_append(fd, rb_options.looks, t->start, (size_t)(t->at - t->start));
    t->at = t->start;
}

static void put_site(struct rb_text *t, const struct rb_site *s)
{
    struct rb_module module;

    if (s->state == RB_SITE_DEAD || rb_site_is_gate(s) || !rb_module_of(s->pc, &module))
        return;
    rb_put(t, module.build_id);
    rb_put_char(t, '\t');
    rb_put_hex(t, s->pc - module.bias);
    rb_put_char(t, '\t');
    rb_put_number(t, s->taken);
    rb_put_char(t, '\n');
}

void rb_looks_write(void)
{
    static char buffer[16384];
    struct rb_text t;

    const int fd = rb_options.looks[0] && !rb_host.sandboxed ? rb_append_open(rb_options.looks) : -1;
    if (fd < 0)
        return;
    rb_text_init(&t, buffer, sizeof(buffer));
    for (uint32_t i = 0; i < rb_sites_count(); i++) {
        if (sizeof(buffer) - (size_t)(t.at - t.start) < LINE_BYTES)
            write_text(fd, &t);
        put_site(&t, rb_site_number(i));
    }
    write_text(fd, &t);
    syscall(SYS_close, fd);
}
