// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libsdl2-dev
// Flags: $(pkg-config --cflags --libs sdl2)
// SDL without a display: mutexes, semaphores, conditions, spin locks, atomics with SDL's promise of order, the queue of events
// with the program's blocks, and timers.
#include "planted.h"
#define SDL_MAIN_HANDLED
#include <SDL.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 300 };
static SDL_mutex *mutex;
static SDL_cond *cond;
static SDL_sem *empty, *full;
static SDL_SpinLock spin;
static SDL_atomic_t references;
static void *published;
static long guarded, under_spin, ringed, ring[4], received;
static int turn, *counted_block;

static void use(int thread)
{
    SDL_SpinLock own = 0;
    (void)thread;
    SDL_AtomicLock(&own);
    SDL_AtomicUnlock(&own);
}

static int lock_all(void *argument)
{
    int me = (int)(long)argument;
    for (int i = 0; i < COUNT; i++) {
        SDL_LockMutex(mutex);
        while (turn != me)
            SDL_CondWait(cond, mutex);
        guarded++;
        turn = !turn;
        SDL_CondBroadcast(cond);
        SDL_UnlockMutex(mutex);
        SDL_AtomicLock(&spin);
        under_spin++;
        SDL_AtomicUnlock(&spin);
        if (me) {
            SDL_SemWait(empty);
            ring[i % 4] = i;
            SDL_SemPost(full);
        } else {
            SDL_SemWait(full);
            ringed += ring[i % 4];
            SDL_SemPost(empty);
        }
    }
    if (me)
        *counted_block = 7;
    if (SDL_AtomicDecRef(&references)) { // the last reference
        under_spin += *counted_block;
        free(counted_block);
    }
    return 0;
}

static int send_events(void *type)
{
    for (long i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        SDL_Event event = {.user = {.type = (Uint32)(long)type, .data1 = block}};
        while (SDL_PushEvent(&event) != 1)
            SDL_Delay(1);
    }
    long *block = malloc(sizeof *block);
    *block = 21;
    SDL_AtomicSetPtr(&published, block); // a full barrier, by SDL_atomic.h
    return 0;
}

static Uint32 on_timer(Uint32 interval, void *argument)
{
    long *block = argument;
    (void)interval;
    *block += 1;
    SDL_SemPost(full);
    return 0;
}

int main(int argc, char **argv)
{
    SDL_Thread *threads[3];
    SDL_Event event;
    SDL_SetHint(SDL_HINT_VIDEODRIVER, "dummy");
    SDL_Init(SDL_INIT_EVENTS | SDL_INIT_TIMER);
    long type = SDL_RegisterEvents(1);
    planted_start(argc, argv, use);
    mutex = SDL_CreateMutex();
    cond = SDL_CreateCond();
    empty = SDL_CreateSemaphore(4);
    full = SDL_CreateSemaphore(0);
    SDL_AtomicSet(&references, 2);
    counted_block = calloc(1, sizeof *counted_block);
    for (long i = 0; i < 2; i++)
        threads[i] = SDL_CreateThread(lock_all, "locker", (void *)i);
    threads[2] = SDL_CreateThread(send_events, "sender", (void *)type);
    for (int taken = 0; taken < COUNT;) {
        if (!SDL_WaitEvent(&event) || event.type != type)
            continue;
        long *block = event.user.data1;
        received += *block;
        free(block);
        taken++;
    }
    long *block;
    while (!(block = SDL_AtomicGetPtr(&published)))
        SDL_Delay(1);
    received += *block;
    free(block);
    for (int i = 0; i < 3; i++)
        SDL_WaitThread(threads[i], NULL);
    long timed = 3;
    SDL_AddTimer(1, on_timer, &timed);
    SDL_SemWait(full);
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", guarded, under_spin, ringed, received, timed);
    SDL_Quit();
    return 0;
}
