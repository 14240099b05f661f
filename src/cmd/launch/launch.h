// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starting other programs: finding and classifying a program, preparing its environment, running it as a
// child as a shell would, and passing on its exit status. The self-test of `railbird run` is here too; the
// doctor runs it as well.
#ifndef RB_CMD_LAUNCH_LAUNCH_H
#define RB_CMD_LAUNCH_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/options.h"
#include "cmd/cli.h"

// ---- children (launch.c) -------------------------------------------------------------------------------

// Returns the file that execvp would run, or NULL (errno: ENOENT, EACCES). For free().
char *launch_find(const char *name);
// The same for a program that the user names; if there is none, fills *e.
char *launch_need(const char *name, struct rb_error *e);

// Runs the words with standard output (and standard error, if `both`) into `out`, cut off at `room` and
// always ended. Returns the status of waitpid, or -1 if the program could not be run.
int launch_capture(char *const *words, bool both, char *out, size_t room);
// The same for standard output alone; standard error is discarded.
int launch_read(char *const *words, char *out, size_t room);

// Sets a variable for the next programs (NULL removes it) and returns its old value, with which
// launch_setenv restores it.
char *launch_setenv(const char *name, const char *value);

struct launch {
    pid_t pid;
    int status; // as of waitpid, after its end
};

// Runs the program as a child that gets the signals this process gets. If `stdout_to` is not -1, the
// child's standard output goes there. Returns 0 with *l filled, or the errno of fork or exec.
int launch_run(char *const *words, int stdout_to, struct launch *l);

// Returns the exit status of the ended child: its own, or 128 + the signal.
int launch_exit_status(int status);

// Ends this process the way the child ended: by the same signal, without a second core file. Otherwise
// returns the exit status to end with.
int launch_end_like(int status);

// ---- kinds of programs (program.c) ---------------------------------------------------------------------
// A program is classified before its start, from its ELF headers, and never by running it.

enum program_kind {
    PROGRAM_OTHER,   // a script, or not readable: it may start anything
    PROGRAM_FOREIGN, // an executable for another machine
    PROGRAM_OURS,    // with our runtime in it, or linked to our shared one
    PROGRAM_SHARED,  // with hooks for a shared runtime: ours can provide them
    PROGRAM_STATIC,  // with TSan's runtime in it: ours cannot replace it
    PROGRAM_PLAIN    // no hooks
};

struct program {
    enum program_kind kind;
    bool needs_ours;   // needs our shared runtime from the loader
    bool loader;       // started by the dynamic loader, so that libraries can be preloaded
    bool privileged;   // exec gives it rights that we lack: it takes nothing from our environment
    char needed[64];   // the TSan library it needs, or ""
    char refuses[160]; // reason why libraries of ours cannot be preloaded into it, or ""
};

// Classifies a program. An unreadable file is PROGRAM_OTHER: exec reports its fault.
void program_look(const char *path, struct program *p);
// Fills `e` with the line about a program that refuses our libraries.
void program_say_refuses(const char *path, const struct program *p, struct rb_error *e);
// Fills `e` with the line about a privileged program.
void program_say_privileged(const char *path, struct rb_error *e);

// ---- railbird run --------------------------------------------------------------------------------------

// Appends to RAILBIRD_OPTIONS in this process's environment.
void run_add_options(const char *pairs);
// Returns the pair with its value in quotes if needed; NULL if no quoting can express it.
char *run_pair(const char *key, const char *value);

// Sets LD_PRELOAD to our runtime and to the shims that satisfy programs linked to TSan's. Returns false
// after a message.
bool run_preload(const char *command);

// Runs the program as a child. With `json` all results become one object on standard output; otherwise a
// line says if nothing was sampled. `given` are the options as far as the command line and the environment
// give them.
int run_watched(char **words, const struct rb_options *given, const struct program *p, bool json);

// Adds up a figure over the statistics of a program's processes.
json_int_t run_total(const json_t *all, const char *key);

// Waits until no reporter of this program is at work, nor one that appends to this file (NULL: none).
// Bounded.
void run_await_reporters(pid_t program, const char *json);

// Runs the self-test RUN_SELF_TESTS times: a known race must be found and a known order left alone. Writes
// lines to `out` unless NULL. Returns true on success.
#define RUN_SELF_TESTS 5
bool run_self_test(FILE *out);

// ---- the witness (witness.c) ---------------------------------------------------------------------------
// Tells a signal to the whole process group from one to this process alone. The kernel does not: kill(pid)
// and kill(-group) look the same to a receiver. So an idle process in the group records the signals that
// arrive; a signal to this process alone does not reach it.

// Starts the witness for the signals of the set. Called with all signals blocked. Without a witness (no
// memory, no process) every signal counts as one to this process alone.
void witness_start(const sigset_t *signals);
void witness_end(void);

// In a signal handler: returns true if the group has just received this signal too. Waits a moment for the
// witness to wake up.
bool witness_saw(int signal);

#endif
