// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rmw_library.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inproc/traps.h"
#include "watch/code_table/code_table_build.h"

struct rb_process rb_process;
static struct rb_self self;
uint64_t lost_edges;

struct rb_self *rb_self_make(void)
{
    return &self;
}

RB_TLS struct rb_self *rb_self_tls;

void rb_deliver_deferred(struct rb_self *me)
{
    (void)me;
}

void rb_lost_edge(struct rb_self *me)
{
    (void)me;
    rb_fetch_add_relaxed(&lost_edges, 1);
}

void rb_traps_unblock(void)
{
}

uint64_t traps;

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    rb_fetch_add_relaxed(&traps, 1);
    if (!rb_rmw_trap(info, context))
        abort();
}

bool rb_trap_take(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART};

    sigfillset(&action.sa_mask);
    return sigaction(SIGTRAP, &action, NULL) == 0;
}

// ---- the library ---------------------------------------------------------------------------------------

void open_library(struct library *l, const char *path)
{
    struct rb_error e = {0};
    Dl_info info;

    memset(l, 0, sizeof(*l));
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(l->handle);
    l->in = dlsym(l->handle, "rmw_in");
    l->out = dlsym(l->handle, "rmw_out");
    l->memory = dlsym(l->handle, "rmw_memory");
    l->address = dlsym(l->handle, "rmw_address");
    l->hits = dlsym(l->handle, "rmw_hits");
    l->first = dlsym(l->handle, "rmw_cases");
    l->end = dlsym(l->handle, "rmw_cases_end");
    *(void **)&l->increment = dlsym(l->handle, "rmw_increment");
    *(void **)&l->decrement = dlsym(l->handle, "rmw_decrement");
    *(void **)&l->trapped = dlsym(l->handle, "rmw_trapped");
    *(void **)&l->xadd = dlsym(l->handle, "rmw_xadd");
    assert_true(dladdr(dlsym(l->handle, "rmw_xadd"), &info));
    l->module.bias = (uintptr_t)info.dli_fbase;
    l->image = rb_rmw_build(path, &e);
    assert_non_null(l->image);
    assert_null(rb_rmw_table_check(&l->table, l->image, l->image->file_bytes, NULL, 0));
}

void close_library(struct library *l)
{
    free(l->image);
    dlclose(l->handle);
}

unsigned char *copy_code(const struct library *l, size_t *bytes)
{
    const struct rb_rmw_row *last = &l->table.row[l->table.header->rows - 1];

    *bytes = last->offset + 64 - l->table.row[0].offset;
    unsigned char *copy = malloc(*bytes);
    memcpy(copy, (const void *)(l->module.bias + l->table.row[0].offset), *bytes);
    return copy;
}

bool is_code(const struct library *l, const unsigned char *copy, size_t bytes)
{
    return memcmp(copy, (const void *)(l->module.bias + l->table.row[0].offset), bytes) == 0;
}

int protection_of(const void *at)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], how[8] = "";
    uintptr_t from, to;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, how) == 3 && (uintptr_t)at >= from && (uintptr_t)at < to)
            break;
    fclose(maps);
    return (how[0] == 'r') * 4 + (how[1] == 'w') * 2 + (how[2] == 'x');
}
