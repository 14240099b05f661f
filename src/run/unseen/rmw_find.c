// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of libraries, from the tool's cache. Missing ones are asked for: a process beside the program
// (run/core/orphan.h) runs the tool for one library after the other, and nothing waits for it.
//
// Invariant: in secure execution there is neither cache nor tool: both come from the environment, or from a
// place that the caller may write.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pages.h"
#include "inproc/modules.h"
#include "inproc/tool.h"
#include "run/core/orphan.h"
#include "run/unseen/rmw.h"

#define MOST_ASKED 64u // libraries of one process
#define PATH_BYTES 1024u

// Written by the thread that asks, under `lock`; `done` by the other process.
struct maker {
    struct rb_orphan orphan;
    char tool_stack[RB_ORPHAN_STACK] __attribute__((aligned(16)));
    const char *tool;
    char *environment[RB_TOOL_ENVIRONMENT];
    uint32_t asked, done, at_work;
    uint32_t ready; // calls that may fail have been made: they change the errno of the thread that asked
    char path[MOST_ASKED][PATH_BYTES];
};
static struct maker *maker;
static long maker_child; // its process, if that is a child of ours
static uint32_t maker_pid;
static rb_spin lock;
static bool cache_known;

// ---- in the other process ------------------------------------------------------------------------------

static int exec_maker(void *given)
{
    const struct maker *m = given;
    const char *const words[] = {m->tool, "code-table", "--rmw", m->path[m->done], NULL};

    long result;

    syscall(SYS_setpriority, 0L /* this process */, 0L, 19L);
    // Without errno if it fails: a thread of the program has the same.
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_execve), "D"(m->tool), "S"(words), "d"(m->environment)
                     : "rcx", "r11", "memory");
    syscall(SYS_exit, result ? 127 : 0);
    return 127;
}

static void make_table(struct maker *m)
{
    int status;
    const long tool = clone(exec_maker, m->tool_stack + RB_ORPHAN_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, m);

    if (tool > 0)
        syscall(SYS_wait4, tool, &status, 0, NULL);
}

// Gives the tool descriptors that lead nowhere: a pipe of the program must end with the program.
static void arrange_nothing(void)
{
    rb_close_from(0);
    for (int fd = 0; fd < 3; fd++)
        syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
}

static int run_maker(void *given)
{
    static const struct {
        void *handler;
        unsigned long flags, restorer, mask;
    } standard;
    struct maker *m = given;
    uint32_t idle = 0;

    syscall(SYS_rt_sigaction, SIGCHLD, &standard, NULL,
            8); // if the program ignores it, there is nothing to wait for
    arrange_nothing();
    rb_store_release(&m->ready, 1);
    do {
        for (; m->done < rb_load_acquire(&m->asked); m->done++)
            make_table(m);
        rb_store_seq_cst(&m->at_work, 0);
        idle = 0; // one that was asked for meanwhile is ours, or that of the next process
    } while (m->done < rb_load_seq_cst(&m->asked) && rb_cas_strong_seq_cst(&m->at_work, &idle, 1));
    return 0;
}

// ---- asking --------------------------------------------------------------------------------------------

static struct maker *get_maker(void)
{
    const char *tool = rb_tool_path();

    if (maker_pid != rb_process.pid) { // a child of fork: that process works for the parent
        maker = NULL;
        maker_child = 0;
    }
    if (maker || !tool || !(maker = rb_pages_map(sizeof(*maker))))
        return maker;
    maker->tool = tool;
    maker_pid = rb_process.pid;
    rb_tool_environment(maker->environment);
    return maker;
}

// Adds the library to those asked for. Returns false if it is there, or there is no room.
static bool add_path(struct maker *m, const char *path)
{
    const size_t bytes = __builtin_strlen(path) + 1;

    if (path[0] != '/' || bytes > PATH_BYTES || m->asked == MOST_ASKED)
        return false;
    for (uint32_t i = 0; i < m->asked; i++)
        if (!__builtin_strcmp(m->path[i], path))
            return false;
    __builtin_memcpy(m->path[m->asked], path, bytes);
    rb_store_seq_cst(&m->asked, m->asked + 1);
    return true;
}

static void ask_tool(const char *path)
{
    struct maker *m = get_maker();
    uint32_t idle = 0;

    if (!m || !add_path(m, path) || !rb_cas_strong_seq_cst(&m->at_work, &idle, 1))
        return;
    while (rb_load_acquire(&m->orphan.living)) // it is on its way out
        sched_yield();
    rb_orphan_reap(maker_child);
    m->orphan.run = run_maker;
    m->orphan.given = m;
    m->ready = 0;
    maker_child = rb_orphan_start(&m->orphan);
    while (!rb_load_acquire(&m->ready) && rb_load_acquire(&m->orphan.living))
        sched_yield();
}

int rb_rmw_table_find(const struct rb_module *module, struct rb_rmw_table *out)
{
    const int saved = errno;
    uint8_t id[RB_RMW_ID_BYTES];
    char path[4300];

    *out = (struct rb_rmw_table){0};
    if (rb_is_secure() || rb_host.sandboxed || !module->build_id[0])
        return -ENOENT;
    rb_spin_lock(&lock);
    if (!cache_known)
        rb_table_cache_init();
    cache_known = true;
    const char *wrong = "";
    if (rb_table_path(module->build_id, ".rmw", path, sizeof(path))) {
        wrong = rb_rmw_table_open(out, path, id, rb_build_id_bytes(module->build_id, id, RB_RMW_ID_BYTES));
        if (wrong)
            ask_tool(module->path);
    }
    rb_spin_unlock(&lock);
    errno = saved;
    return wrong ? -ENOENT : 0;
}

void rb_rmw_tables_reset(void)
{
    lock = 0;
}
