// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The agent of `railbird watch` (librailbird_watch.so, preloaded into programs that were built without us):
// the types and functions that its files share. docs/explanation/watch.md describes all of it: life of a sample,
// states, proofs.
//
// World: inside other people's programs. libc alone, no malloc, no stdio, errno stays. Only reports are
// printed, and one line when nothing can be done. The handler of SIGTRAP makes system calls and uses
// nothing else of libc.
//
// Inside the agent `syscall` means the bare system call (inproc/arch_syscall_x86_64.S). The program's own
// goes through agent_process.c and is counted.
#ifndef RB_WATCH_AGENT_AGENT_H
#define RB_WATCH_AGENT_AGENT_H

#include <pthread.h>
#include <ucontext.h>

#include "base/rng.h"
#include "inproc/breakpoints.h"
#include "inproc/host.h"
#include "inproc/spin.h"
#include "inproc/text_buffer.h"
#include "inproc/traps.h"
#include "inproc/unwind.h"
#include "watch/code_table/code_table.h"

#define RB_TRAIL_FRAMES 32u
#define RB_MODULES      128u

// ---- threads (agent_threads.c) -------------------------------------------------------------------------

// A call stack, innermost first: return addresses.
struct rb_trail {
    uint32_t count;
    uintptr_t pc[RB_TRAIL_FRAMES];
};

// A thread of the program. Records are never returned to the system, so that any may be read at any time.
// `clock` only grows, also from one user of a record to the next: a stored value never occurs again.
struct rb_watched {
    uint64_t clock; // number of its synchronisations; first, the trampolines of agent_sync.c increment it
    uint32_t id, parent;
    int32_t os_id;    // 0: not begun
    bool trap_hidden; // as in its creator: the program believes that SIGTRAP is blocked
    uintptr_t lo, hi; // its stack
    struct rb_trail created;
    void *(*function)(void *);
    int (*function_c11)(void *);
    void *argument;
    struct rb_watched *next; // of the free records
};
extern RB_TLS RB_HIDDEN struct rb_watched *rb_agent_me; // NULL: not known, or ended

RB_HIDDEN void rb_threads_start(void); // the calling thread counts as the main thread
RB_HIDDEN void rb_threads_after_fork(void);
RB_HIDDEN uint32_t rb_threads_alive(void);
// Returns the thread with the address on its stack, or RB_NO_THREAD.
RB_HIDDEN uint32_t rb_thread_of(uintptr_t address);
// Walks the stack of the current thread, beginning with a frame of it.
RB_HIDDEN void rb_trail_from(struct rb_trail *t, struct rb_unwind_frame frame, uintptr_t top);

RB_INLINE void rb_agent_bump(void)
{
    struct rb_watched *me = rb_agent_me;

    if (me) // one instruction: a handler of the thread may do the same in between
        __asm__ volatile("incq %0" : "+m"(me->clock)::"memory");
}

// ---- code (agent_code.c) -------------------------------------------------------------------------------

enum rb_site_now {
    RB_SITE_NEVER,  // no byte of ours has been there
    RB_SITE_FREE,   // `original` is known, and in the code
    RB_SITE_COMES,  // int3 is being written; a late trap of an earlier one must not take it
    RB_SITE_SET,    // int3
    RB_SITE_SLOW,   // the same, and a thread that traps is delayed
    RB_SITE_TAKEN,  // a thread has trapped, and is putting the byte back
    RB_SITE_UNUSED, // could not be written
};

// A module with a table. The handler reads the first fields without a lock: `from` is written last when the
// module comes and first when it goes.
struct rb_code_module {
    uintptr_t from, to; // its code; 0, 0: not loaded
    uintptr_t bias;
    struct rb_code_table table;
    uint8_t *state, *original; // one each a site
    bool stays;                // is never unloaded: the program itself
    bool refused;              // has no table, and this was reported
    bool ever;                 // a byte was written there
    uint64_t chosen;           // sites of --rate
    char build_id[65];
    char path[512];
};
extern RB_HIDDEN struct rb_code_module rb_modules[RB_MODULES];
extern RB_HIDDEN uint32_t rb_module_count;

struct rb_place {
    struct rb_code_module *module;
    uint32_t site; // index, or UINT32_MAX: the row is no site
    const struct rb_code_row *row;
    unsigned rows;
};

RB_HIDDEN struct rb_code_module *rb_code_module_at(uintptr_t pc);
// Finds the site that begins at an address; handler.
RB_HIDDEN bool rb_site_find(uintptr_t address, struct rb_place *place);
// Writes int3; the planting lock is held. Returns false if that is not possible.
RB_HIDDEN bool rb_site_plant(struct rb_code_module *m, uint32_t site, enum rb_site_now how);
// Takes it back if it is still there; the planting lock is held.
RB_HIDDEN bool rb_site_withdraw(struct rb_code_module *m, uint32_t site);
// Puts the byte back; called by the thread that took the site.
RB_HIDDEN void rb_site_restore(struct rb_code_module *m, uint32_t site);
// Withdraws all sites, in this process's memory; `all`: also in modules that stay.
RB_HIDDEN void rb_sites_withdraw_all(bool all);
RB_HIDDEN void rb_sites_after_fork(void); // in the child's memory, also sites that another thread had taken
RB_HIDDEN bool rb_code_try(void);         // returns true if code can be written
// Finds the modules that are loaded now; the planting lock is held. Returns true if rb_modules_take is
// needed. That is called without the lock, and may ask the tool for tables. The agent's thread.
RB_HIDDEN bool rb_modules_look(void);
RB_HIDDEN void rb_modules_take(void);
RB_HIDDEN void rb_modules_init(void);  // finds the folder of the tables, from the environment at the start
extern RB_HIDDEN rb_spin rb_scan_lock; // held while the loader's list is read
RB_HIDDEN uint64_t rb_sites_total(void);
RB_HIDDEN bool rb_site_pick(uint64_t number, struct rb_code_module **m, uint32_t *site);
extern RB_HIDDEN const char *rb_code_refused; // the reason why code cannot be written here

// ---- samples (agent_samples.c) -------------------------------------------------------------------------

RB_HIDDEN bool rb_sample_int3(ucontext_t *context); // an int3; false: not one of ours
RB_HIDDEN void rb_sample_hit(const struct rb_breakpoint_hit *hit, ucontext_t *context);
// Ends expired breakpoints; the agent's thread. Returns the time to wait for the next, at most
// `most_ns`. `*set` is true if one is set.
RB_HIDDEN uint64_t rb_samples_wait(uint64_t most_ns, bool *set);
RB_HIDDEN void rb_samples_stop(void);
RB_HIDDEN void rb_samples_after_fork(void);
extern RB_TLS RB_HIDDEN uint64_t rb_stood; // ticks that the current trap has waited

// One of the two accesses of a pair.
struct rb_side {
    uint32_t thread, parent;
    int32_t os_id;
    bool reads, writes;
    uint32_t size;
    uintptr_t address;
    uint16_t flags; // of its row; 0: not known
    struct rb_code_module *module;
    uint32_t site;
    struct rb_trail stack, created;
};

enum rb_verdict {
    RB_VERDICT_CHANGED, // the value changed, and no thread was caught
    RB_VERDICT_CLOCK,
    RB_VERDICT_MOVES, // a collision of two plain moves, or of a plain move and an atomic operation
    RB_VERDICT_CONFIRMED,
};

struct rb_pair {
    enum rb_verdict verdict;
    struct rb_side side[2]; // the later one first; CHANGED has only [1]
    double time;
};

// ---- pairs found (agent_pairs.c, agent_report.c) -------------------------------------------------------

// rb_pair_new returns an empty pair for the handler to fill in, or NULL; rb_pair_found hands it over.
RB_HIDDEN struct rb_pair *rb_pair_new(void);
RB_HIDDEN void rb_pair_found(struct rb_pair *p);
// Sorts pairs and reports those that are confirmed. Called by the agent's thread, or the thread that ends
// the process.
RB_HIDDEN void rb_pairs_work(void);
RB_HIDDEN void rb_pairs_list(void); // the candidates, at the end
RB_HIDDEN void rb_pairs_after_fork(void);
// Plants sites of candidates, to come back to them with delays. Returns the number planted.
RB_HIDDEN unsigned rb_pairs_return(unsigned most);
RB_HIDDEN void rb_report_pair(const struct rb_pair *p);
RB_HIDDEN void rb_report_candidates(const struct rb_pair *list, const bool *wanted, unsigned count);
RB_HIDDEN void rb_agent_summary(void);

// ---- the agent -----------------------------------------------------------------------------------------

enum rb_agent_mode { RB_MODE_CLOCK = 1, RB_MODE_COLLIDE = 2, RB_MODE_BOTH = 3 };

struct rb_agent_settings {
    enum rb_agent_mode mode;
    uint32_t per_second;
    uint64_t rate;      // of sites, in millionths; 0: per_second
    uint64_t window_us; // of a breakpoint without a waiting thread
    uint64_t delay_us;
    uint64_t budget; // millionths
    bool candidates, no_atomics;
    char modules[2048]; // patterns with NUL between them, ends with an empty one; none: the default
};
extern RB_HIDDEN struct rb_agent_settings rb_agent;

// Counted by any thread; for the summary.
struct rb_agent_counts {
#define RB_COUNT(name, text) uint64_t name;
#include "watch/agent/agent_counts.def"
#undef RB_COUNT
};
extern RB_HIDDEN struct rb_agent_counts rb_counts;
#define RB_COUNTED(name) ((void)rb_fetch_add_relaxed(&rb_counts.name, 1))

// The agent's life (agent.c). `rb_agent_on`: samples are taken.
extern RB_HIDDEN bool rb_agent_on;
extern RB_HIDDEN pid_t rb_agent_process;
extern RB_HIDDEN const char *rb_agent_missing;    // the reason why nothing is done, or NULL
RB_HIDDEN void rb_agent_start(void);              // before the second thread
RB_HIDDEN void rb_agent_stop(const char *reason); // for good in this process: all bytes back, all closed
RB_HIDDEN void rb_agent_after_fork(void);
RB_HIDDEN void rb_agent_conclude(void);      // stops, reports the rest, prints the summary; once
RB_HIDDEN int rb_agent_finish(int status);   // the same, and returns the exit status to use
RB_HIDDEN void rb_agent_before_filter(void); // the process will filter its system calls: the agent stops
RB_HIDDEN bool rb_agent_is_filtered(void);
RB_HIDDEN bool rb_agent_is_process(void);
// Converts ticks to nanoseconds, once the agent has measured them.
RB_HIDDEN uint64_t rb_agent_ns(uint64_t ticks);
RB_HIDDEN uint64_t rb_agent_ticks_of_us(uint64_t us);
RB_HIDDEN uint64_t rb_agent_clock(int which); // nanoseconds
extern RB_HIDDEN uint64_t rb_agent_seed;

// The agent's thread (agent_thread.c)
RB_HIDDEN bool rb_agent_thread_start(void);
RB_HIDDEN void rb_agent_thread_stop(void); // asks it to end and waits for a limited time
RB_HIDDEN void rb_agent_wake(void);
RB_HIDDEN void rb_agent_thread_after_fork(void);
RB_HIDDEN void rb_agent_pay(uint64_t ticks); // adds the cost of a trap
RB_HIDDEN void rb_agent_delayed(uint64_t ticks);
RB_HIDDEN bool rb_agent_may_delay(void);  // returns true within the budget of delays
RB_HIDDEN double rb_agent_cost(void);     // share of the processor's time
extern RB_HIDDEN rb_spin rb_plant_lock;   // held to write code; never in the handler
extern RB_HIDDEN uint32_t rb_plant_holds; // while it is not 0, code is not changed

// SIGTRAP (agent_signals.c)
RB_HIDDEN bool rb_agent_trap_take(void);
RB_HIDDEN void rb_trap_drain(void); // waits until no thread handles a trap

// Real functions (agent_sync.c)
RB_HIDDEN void *rb_agent_find(void **slot, const char *name);
// A function that is behind ours in the order of loading, and its name; all of them are in one section.
struct rb_next {
    void *function;
    const char *name;
};
RB_HIDDEN void rb_agent_find_all(void); // in the constructor, before there are threads

#define RB_NEXT(name)                                                                    \
    ({                                                                                   \
        static struct rb_next next_##name                                                \
            __attribute__((section("rb_agent_real"), used, aligned(8))) = {NULL, #name}; \
        void *found_##name = rb_load_relaxed(&next_##name.function);                     \
        if (RB_UNLIKELY(!found_##name))                                                  \
            found_##name = rb_agent_find(&next_##name.function, #name);                  \
        (__typeof__(&name))found_##name;                                                 \
    })

#endif
