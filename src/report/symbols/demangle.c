// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Demangling with bounds. A substitution of the Itanium mangling
// (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling-compression) may double the name at each
// use: 300 characters stand for gigabytes. Therefore libiberty's printer is left when its output is too
// long or its time is up. Both exits are jumps: in this interface libiberty holds no lock and takes no
// memory but stack. It needs at most 2 MiB of stack, for names of at most 1,024 characters.
#include "report/symbols/symbols.h"

#include <demangle.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define TIME_LIMIT 50000 // microseconds of processor time; a common name takes a few

struct output {
    char *text;
    size_t length, room;
};

static sigjmp_buf gives_up;
static volatile sig_atomic_t may_give_up; // while `gives_up` is valid

static void output_append(const char *text, size_t length, void *context)
{
    struct output *out = context;

    if (length >= out->room - out->length)
        siglongjmp(gives_up, 1);
    memcpy(out->text + out->length, text, length);
    out->length += length;
}

static void on_time_up(int signal)
{
    (void)signal;
    if (may_give_up)
        siglongjmp(gives_up, 1);
}

// Demangles, or returns false when the output is full or the timer, which the caller has set, expires.
static bool demangle_or_give_up(const char *symbol, char *text, size_t room)
{
    struct output out = {.text = text, .room = room};
    bool done;

    if (sigsetjmp(gives_up, 0) == 0) {
        may_give_up = 1;
        done = cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_TYPES, output_append, &out);
        may_give_up = 0;
        text[out.length] = 0;
        return done;
    }
    may_give_up = 0;
    return false;
}

bool rb_demangle(const char *symbol, char *out, size_t room)
{
    const struct itimerval limit = {.it_value.tv_usec = TIME_LIMIT}, off = {0};
    struct sigaction action = {.sa_handler = on_time_up}, old_action;
    sigset_t mask, old_mask;
    bool done;

    if (!room || strncmp(symbol, "_Z", 2))
        return false;
    sigemptyset(&mask);
    sigaddset(&mask, SIGVTALRM);
    sigaction(SIGVTALRM, &action, &old_action);
    pthread_sigmask(SIG_UNBLOCK, &mask, &old_mask);
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    done = demangle_or_give_up(symbol, out, room);
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    sigaction(SIGVTALRM, &old_action, NULL);
    return done;
}
