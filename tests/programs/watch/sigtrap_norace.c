/*
 * The program has SIGTRAP for itself, a handler, a mask, a wait; its accesses are under a mutex.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "fresh.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // sighold and the like

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void use_trap(void);

__attribute__((noinline)) static void hot(struct cell *c, long v)
{
    c->value = v;
}

#define FRESH(n)                                                \
    __attribute__((noinline)) static long fresh_##n(long *from) \
    {                                                           \
        return *from + n;                                       \
    }
RB_EACH(FRESH)
#define NAME(n) fresh_##n,
static long (*const fresh[ROUNDS])(long *) = {RB_EACH(NAME)};

static void seldom(void)
{
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rb_await(2 * i + 1);
        pthread_mutex_lock(&mutex);
        sum += fresh[i](&cells[i].value);
        pthread_mutex_unlock(&mutex);
        rb_reach(2 * i + 2);
    }
    rb_use(sum);
}

static void often(void)
{
    for (long i = 0; i < RB_WARM; i++)
        hot(&idle, i);
    use_trap();
    for (int i = 0; i < ROUNDS; i++) {
        for (long k = 0; k < RB_REST; k++)
            hot(&idle, k);
        rb_reach(2 * i + 1);
        rb_await(2 * i + 2);
        pthread_mutex_lock(&mutex);
        hot(&cells[i], i);
        pthread_mutex_unlock(&mutex);
    }
}

/* The program's own use of SIGTRAP, while watchpoints may need it. 0x04000000 is libc's own flag, SA_RESTORER.
 */
static volatile sig_atomic_t traps, codes;

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)context;
    traps += number == SIGTRAP;
    codes += info->si_code == SI_TKILL;
}

static void use_trap(void)
{
    struct sigaction action, old;
    sigset_t set, before;

    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    RB_CHECK(sigaction(SIGTRAP, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    RB_CHECK(sigaction(SIGTRAP, NULL, &old) == 0 && old.sa_sigaction == on_trap &&
             (old.sa_flags & ~0x04000000) == SA_SIGINFO);
    RB_CHECK(raise(SIGTRAP) == 0 && traps == 1 && codes == 1);
    __asm__ volatile("int3");
    RB_CHECK(traps == 2);
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &set, &before) == 0 && !sigismember(&before, SIGTRAP));
    RB_CHECK(raise(SIGTRAP) == 0 && traps == 2);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, NULL, &before) == 0 && sigismember(&before, SIGTRAP));
    RB_CHECK(sigpending(&before) == 0 && sigismember(&before, SIGTRAP));
    RB_CHECK(pthread_sigmask(SIG_UNBLOCK, &set, &before) == 0 && sigismember(&before, SIGTRAP));
    RB_CHECK(traps == 3);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    RB_CHECK(raise(SIGTRAP) == 0 && sigwaitinfo(&set, NULL) == SIGTRAP && traps == 3);
    RB_CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 && traps == 3);
    RB_CHECK(sighold(SIGTRAP) == 0 && raise(SIGTRAP) == 0 && traps == 3);
    RB_CHECK(sigrelse(SIGTRAP) == 0 && traps == 4);
    RB_CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && sigrelse(SIGTRAP) == 0);
    RB_CHECK(raise(SIGTRAP) == 0 && traps == 5);
    traps = 3;
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    RB_CHECK(sigaction(SIGTRAP, &action, NULL) == 0 && raise(SIGTRAP) == 0 && traps == 3);
    action.sa_handler = SIG_DFL;
    RB_CHECK(sigaction(SIGTRAP, &action, &old) == 0 && old.sa_handler == SIG_IGN);
}

int main(void)
{
    rb_escape(cells);
    return rb_both(seldom, often);
}
