#include "cli/witness.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS       1000000
#define PATIENCE 50 // milliseconds that the witness may take to wake up
#define RECENT \
    200 // one that it got this long ago is still the same: some tools send to the process and to the group

// When each signal arrived last, in nanoseconds; 0: never. Written by the witness alone, in a page it shares
// with us.
static int64_t *arrived;
static pid_t witness;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void watch(const sigset_t *signals, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(0, ~0u, 0); // whoever waits for the end of a pipe does not wait for us
    while (getppid() == parent) {
        const int signal = sigwaitinfo(signals, NULL);
        if (signal > 0)
            __atomic_store_n(&arrived[signal], now(), __ATOMIC_RELAXED);
    }
    _exit(0);
}

void witness_start(const sigset_t *signals)
{
    const pid_t parent = getpid();

    if (!arrived)
        arrived =
            mmap(NULL, NSIG * sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arrived == MAP_FAILED) {
        arrived = NULL;
        return;
    }
    witness = fork();
    if (witness == 0)
        watch(signals, parent);
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

bool witness_saw(int signal)
{
    const struct timespec ms = {0, MS};
    const int64_t since = now() - (int64_t)RECENT * MS;

    for (int waited = 0; witness > 0 && waited <= PATIENCE; waited++) {
        const int64_t at = __atomic_load_n(&arrived[signal], __ATOMIC_RELAXED);
        if (at && at >= since)
            return true;
        nanosleep(&ms, NULL);
    }
    return false;
}
