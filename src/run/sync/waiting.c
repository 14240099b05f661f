// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The price of waiting (waiting.h), from the kernel's counts of context switches.
#include "run/sync/waiting.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/core/upcalls.h"
#include "run/record/record.h"

#define SWITCH_NS   50000u // most cost of a thread that waits and is woken because another was delayed
#define BASE_NS     2e7    // of the program itself while paused: enough to know how often its threads wait
#define BASE_AGE_NS 5e9    // age after which it may have changed
#define YIELDS      16u    // of a thread, before it adds them to the total; the first ones are added at once

static uint64_t yields;

static void keep_pace(struct rb_waiting_pace *p, double ns, double switches)
{
    p->ns += ns;
    p->switches += switches;
    if (p->ns < 1e9)
        return;
    p->ns /= 2;
    p->switches /= 2;
}

// Returns the cost of one switch: at most all kernel time of the program, by the number of switches.
static double price_switch(const struct rusage *used)
{
    const double kernel = (double)used->ru_stime.tv_sec * 1e9 + (double)used->ru_stime.tv_usec * 1e3;
    const double each = kernel / ((double)used->ru_nvcsw + (double)used->ru_nivcsw + 1);

    return each < SWITCH_NS ? each : SWITCH_NS;
}

// Returns the cost of so many switches more than usual, in a time of which the program itself used
// `own_ns`.
static double price_of_switches(double more, const struct rusage *used, double own_ns)
{
    const double ns = more > 0 ? more * price_switch(used) : 0;

    return ns < own_ns / 2 ? ns : own_ns / 2;
}

// Returns the charge for earlier switches beyond the usual, when the usual number has just become known.
static double charge_belated(const struct rb_waiting *w, const struct rusage *used)
{
    const struct rb_waiting_pace *p = &w->followed;

    return price_of_switches(p->switches - w->at_rest.switches / w->at_rest.ns * p->ns, used, p->ns);
}

// Counts a yield: a thread that spins and yields is switched without having waited, as if its time were up.
void rb_waiting_yielded(void)
{
    static RB_TLS uint32_t mine;

    mine++;
    if (mine <= 4 * YIELDS)
        rb_fetch_add_relaxed(&yields, 1);
    else if (mine % YIELDS == 0)
        rb_fetch_add_relaxed(&yields, YIELDS);
}

static double count_switches(struct rb_waiting *w, const struct rusage *used)
{
    const uint64_t yielded = rb_load_relaxed(&yields), waited = (uint64_t)used->ru_nvcsw,
                   preempted = (uint64_t)used->ru_nivcsw;
    // Two for each yield: the thread comes back when another's time is up.
    const double unasked = (double)(preempted - w->preempted) - 2 * (double)(yielded - w->yielded);
    const double lately = (double)(waited - w->waited) + (unasked > 0 ? unasked : 0);

    w->waited = waited;
    w->preempted = preempted;
    w->yielded = yielded;
    return lately - 1; // the ticker's own
}

// Charges switches beyond the number that is usual while paused.
static double charge_unusual(struct rb_waiting *w, double turn_ns, double own_ns, uint64_t episodes)
{
    struct rusage used;

    syscall(SYS_getrusage, RUSAGE_SELF, &used);
    const double lately = count_switches(w, &used);
    const bool before = w->before;
    w->before = w->follows || w->episodes != episodes;
    rb_waiting_change(w, episodes, !rb_is_paused());
    if (!before && !w->before) {
        const bool known = w->at_rest.ns >= BASE_NS;
        keep_pace(&w->at_rest, turn_ns, lately);
        w->since_ns = own_ns;
        return known || w->at_rest.ns < BASE_NS ? 0 : charge_belated(w, &used);
    }
    keep_pace(&w->followed, turn_ns, lately);
    if (w->at_rest.ns < BASE_NS)
        return 0;
    const double usual = w->at_rest.switches / w->at_rest.ns;
    w->more += lately - usual * turn_ns;
    if (w->more < -usual * 1e8) // a saving by chance is soon forgotten
        w->more = -usual * 1e8;
    if (w->more < 0)
        return 0;
    const double ns = price_of_switches(w->more, &used, turn_ns);
    w->more = 0;
    return ns;
}

// Returns true if waiting matters, and the program's own share of it is not known.
static bool is_usual_unknown(const struct rb_waiting *w, double own_ns)
{
    const struct rb_waiting_pace *p = &w->followed;

    return (w->at_rest.ns < BASE_NS || own_ns - w->since_ns > BASE_AGE_NS) && p->ns > BASE_NS &&
           p->switches * SWITCH_NS > p->ns * (double)rb_options.budget * 1e-6 / 2 && !rb_recording;
}

double rb_waiting_turn(struct rb_waiting *w, double turn_ns, double own_ns, uint64_t episodes)
{
    const double ns = charge_unusual(w, turn_ns, own_ns, episodes);

    rb_store_relaxed(&w->unknown, is_usual_unknown(w, own_ns));
    return ns;
}

void rb_waiting_change(struct rb_waiting *w, uint64_t episodes, bool follows)
{
    w->episodes = episodes;
    w->follows = follows;
}
