// What kind of program a file is, as far as `railbird run` must know before it starts it: read from the ELF
// headers, never by running it.
#ifndef RB_CMD_LAUNCH_PROGRAM_H
#define RB_CMD_LAUNCH_PROGRAM_H

#include "base/error.h"
#include "base/types.h"

enum program_kind {
    PROGRAM_OTHER,   // a script, or nothing we can read: what it starts may be anything
    PROGRAM_FOREIGN, // an executable for another machine
    PROGRAM_OURS,    // with our runtime in it, or linked to our shared one
    PROGRAM_SHARED,  // hooks that a shared runtime is to provide: ours can
    PROGRAM_STATIC,  // with TSan's runtime in it: ours cannot
    PROGRAM_PLAIN    // no hooks
};

struct program {
    enum program_kind kind;
    bool needs_ours; // asks the loader for our shared runtime
    bool loader;     // started by the dynamic loader, so that libraries can be preloaded
    bool privileged; // exec gives it rights that we lack: it takes nothing from our environment
    char needed[64]; // the TSan library it asks for, or ""
    char refuses[160]; // why libraries of ours cannot be preloaded into it, or ""
};

// A file that cannot be read is PROGRAM_OTHER: exec says what is wrong with it.
void program_look(const char *path, struct program *p);
// Puts into `e` the line about a program that refuses our libraries.
void program_say_refuses(const char *path, const struct program *p, struct rb_error *e);
// Puts into `e` the line about a privileged program.
void program_say_privileged(const char *path, struct rb_error *e);

#endif
