// What a program can see of its own process, one line a fact. The same program is built with the runtime and
// without it; the lines must be the same.
#ifndef SEE_H
#define SEE_H

#include <stdio.h>

#define SEE(name, ...)        \
    do {                      \
        printf("%s: ", name); \
        printf(__VA_ARGS__);  \
        putchar('\n');        \
        fflush(stdout);       \
    } while (0)

void see_process(void);
void see_errno(void);
void see_signals(void);
void see_interrupts(void);
void see_children(const char *self);

// Two threads on one variable, without order: a race a call, if somebody looks.
void meet_race(void);

#endif
