/* Mutexes of every kind: each thread has its own, so they order nothing. */
#define _GNU_SOURCE
#include "../order.h"

enum { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE, INHERIT, KINDS };
RB_APART int normal, recursive, errorcheck, adaptive, inherit;
pthread_mutex_t mine[KINDS];
pthread_mutex_t yours[KINDS];

static void first(void)
{
    pthread_mutex_lock(&mine[NORMAL]);
    normal = 1; /* RACE 1 */
    pthread_mutex_unlock(&mine[NORMAL]);
    pthread_mutex_lock(&mine[RECURSIVE]);
    recursive = 1; /* RACE 3 */
    pthread_mutex_unlock(&mine[RECURSIVE]);
    pthread_mutex_lock(&mine[ERRORCHECK]);
    errorcheck = 1; /* RACE 5 */
    pthread_mutex_unlock(&mine[ERRORCHECK]);
    pthread_mutex_lock(&mine[ADAPTIVE]);
    adaptive = 1; /* RACE 7 */
    pthread_mutex_unlock(&mine[ADAPTIVE]);
    pthread_mutex_lock(&mine[INHERIT]);
    inherit = 1; /* RACE 9 */
    pthread_mutex_unlock(&mine[INHERIT]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&yours[NORMAL]);
    normal = 2; /* RACE 2 */
    pthread_mutex_unlock(&yours[NORMAL]);
    pthread_mutex_lock(&yours[RECURSIVE]);
    recursive = 2; /* RACE 4 */
    pthread_mutex_unlock(&yours[RECURSIVE]);
    pthread_mutex_lock(&yours[ERRORCHECK]);
    errorcheck = 2; /* RACE 6 */
    pthread_mutex_unlock(&yours[ERRORCHECK]);
    pthread_mutex_lock(&yours[ADAPTIVE]);
    adaptive = 2; /* RACE 8 */
    pthread_mutex_unlock(&yours[ADAPTIVE]);
    pthread_mutex_lock(&yours[INHERIT]);
    inherit = 2; /* RACE 10 */
    pthread_mutex_unlock(&yours[INHERIT]);
}

static void make(pthread_mutex_t *mutexes)
{
    static const int types[KINDS] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                     PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_NORMAL};

    for (int i = 0; i < KINDS; i++) {
        pthread_mutexattr_t attributes;

        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, types[i]);
        if (i == INHERIT)
            pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        RB_CHECK(pthread_mutex_init(&mutexes[i], &attributes) == 0);
        pthread_mutexattr_destroy(&attributes);
    }
}

int main(void)
{
    make(mine);
    make(yours);
    rb_both(first, second);
    for (int i = 0; i < KINDS; i++)
        RB_CHECK(pthread_mutex_destroy(&mine[i]) == 0);
    return 0;
}
