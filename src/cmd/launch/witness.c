// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/atomic.h"
#include "cmd/launch/launch.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000
// Some tools send a signal to the process and to the group. A signal that the witness gets this much later,
// or got this long ago, is the same, in milliseconds.
#define PATIENCE 50
#define RECENT   200
#define BUSY     10000 // milliseconds for the answer of the witness on a busy machine

// A page that the witness shares with us. Only the witness writes to it.
struct seen {
    int64_t arrived[NSIG]; // time of each signal's last arrival, in nanoseconds; 0: never
    int asked; // the last answered question; all signals that were pending before it are in `arrived`
};
static struct seen *seen;
static int64_t handled[NSIG]; // time of the last call of witness_saw for each signal
static pid_t witness;

static int64_t read_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void run_witness(const sigset_t *signals, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(0, ~0u, 0); // a reader of a pipe must not wait for the witness
    while (getppid() == parent) {
        siginfo_t info;
        const int signal = sigwaitinfo(signals, &info); // lower numbers come first
        if (signal == SIGRTMAX)
            rb_store_release(&seen->asked, info.si_value.sival_int);
        else if (signal > 0)
            rb_store_relaxed(&seen->arrived[signal], read_clock());
    }
    _exit(0);
}

void witness_start(const sigset_t *signals)
{
    const pid_t parent = getpid();
    sigset_t and_question = *signals;

    if (!seen)
        seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) {
        seen = NULL;
        return;
    }
    sigaddset(&and_question, SIGRTMAX);
    witness = fork();
    if (witness == 0)
        run_witness(&and_question, parent);
}

void witness_end(void)
{
    if (witness <= 0)
        return;
    kill(witness, SIGKILL);
    while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
        ;
    witness = 0;
}

static const struct timespec ms = {0, MS};

// Waits until the witness has taken all signals that are pending for it: it may not have had the processor.
static void ask_witness(void)
{
    static int question;
    const union sigval value = {.sival_int = ++question};

    if (sigqueue(witness, SIGRTMAX, value) < 0)
        return;
    for (int waited = 0; waited < BUSY; waited++) {
        if (rb_load_acquire(&seen->asked) == question)
            return;
        nanosleep(&ms, NULL);
    }
}

// Returns true if the witness got the signal since `before`.
static bool witness_got(int signal, int64_t before)
{
    const int64_t at = rb_load_relaxed(&seen->arrived[signal]);

    return at && at >= before;
}

bool witness_saw(int signal)
{
    const int64_t recent = read_clock() - (int64_t)RECENT * MS,
                  since = handled[signal] < recent ? handled[signal] : recent;
    bool saw = false;

    for (int waited = 0; witness > 0 && !saw && waited <= PATIENCE; waited++) {
        saw = witness_got(signal, since);
        if (!saw)
            nanosleep(&ms, NULL);
    }
    if (witness > 0 && !saw) {
        ask_witness();
        saw = witness_got(signal, since);
    }
    handled[signal] = read_clock();
    return saw;
}
