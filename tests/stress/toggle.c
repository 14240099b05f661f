// Linked into the stress program by toggle.sh: a thread that switches every call site off and on again without a
// pause, as no sampler would. The rest of the program must not notice.
#include <pthread.h>
#include <signal.h>

#include "run/sites/sites.h"

static void *toggle(void *unused)
{
    sigset_t all;

    (void)unused;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        rb_sites_flip_all(NULL, RB_SITE_ASLEEP);
        rb_sites_flip_all(NULL, RB_SITE_AWAKE);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, toggle, NULL) == 0)
        pthread_detach(thread);
}
