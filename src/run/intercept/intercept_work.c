// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work that libc's own threads do for the program: reading and writing files, looking up names. A thread
// that finds the work done is ordered after the thread that asked for it.
#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"
#include "run/sync/sync.h"

#define FINISHES(event) RB_BESIDE((void)0, rb_event_asked(me, event)) // the event announces its end

#define RB_WORKS(of, six_four)                                                           \
    RB_INTERCEPT(int, lio_listio##six_four,                                              \
                 (int mode, struct of *const list[], int count, struct sigevent *event)) \
    {                                                                                    \
        for (int i = 0; i < count; i++)                                                  \
            if (list[i]) {                                                               \
                if (list[i]->aio_lio_opcode == LIO_WRITE)                                \
                    rb_fd_release(rb_fd_object(list[i]->aio_fildes));                    \
                FINISHES(&list[i]->aio_sigevent);                                        \
            }                                                                            \
        if (event)                                                                       \
            FINISHES(event);                                                             \
        const int r = RB_REAL(lio_listio##six_four)(mode, list, count, event);           \
        for (int i = 0; i < count && mode == LIO_WAIT; i++)                              \
            if (list[i])                                                                 \
                rb_fd_acquire_end(rb_fd_object(list[i]->aio_fildes));                    \
        return r;                                                                        \
    }                                                                                    \
    RB_INTERCEPT(int, aio_suspend##six_four,                                             \
                 (const struct of *const list[], int count, const struct timespec *t))   \
    {                                                                                    \
        const int r = RB_REAL(aio_suspend##six_four)(list, count, t);                    \
        const int saved = errno;                                                         \
        for (int i = 0; i < count && r == 0; i++)                                        \
            if (list[i] && RB_REAL(aio_error##six_four)(list[i]) != EINPROGRESS)         \
                rb_fd_acquire_end(rb_fd_object(list[i]->aio_fildes));                    \
        errno = saved;                                                                   \
        return r;                                                                        \
    }
RB_WORKS(aiocb, )
RB_WORKS(aiocb64, 64)

#if !defined(RB_STATIC)
RB_INTERCEPT(int, getaddrinfo_a, (int mode, struct gaicb *list[], int count, struct sigevent *event))
{
    for (int i = 0; i < count; i++)
        if (list[i])
            RB_BESIDE((void)0, rb_on_release(me, (uintptr_t)list[i]));
    if (event)
        FINISHES(event);
    const int r = RB_REAL(getaddrinfo_a)(mode, list, count, event);
    for (int i = 0; i < count && mode == GAI_WAIT; i++)
        if (list[i])
            RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)list[i]));
    return r;
}

RB_INTERCEPT(int, gai_suspend, (const struct gaicb *const list[], int count, const struct timespec *t))
{
    const int r = RB_REAL(gai_suspend)(list, count, t);

    for (int i = 0; i < count && (r == 0 || r == EAI_ALLDONE); i++)
        if (list[i] && RB_REAL(gai_error)((struct gaicb *)(uintptr_t)list[i]) != EAI_INPROGRESS)
            RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)list[i]));
    return r;
}
#endif
