// Starting other programs: finding them, reading their output, running one as a shell would and passing on
// how it ended.
#ifndef RB_CMD_LAUNCH_LAUNCH_H
#define RB_CMD_LAUNCH_LAUNCH_H

#include <sys/types.h>

#include "base/types.h"

// The file that execvp would run, or NULL (errno: ENOENT, EACCES). To be freed.
char *launch_find(const char *name);
// The same for a program that the user wants run: if there is none, *e says so.
struct rb_error;
char *launch_need(const char *name, struct rb_error *e);

// Runs the words with standard output (and standard error, if `both`) into `out`, cut off at `room` and
// always ended. Returns the status waitpid gave, or -1 if it could not be run.
int launch_capture(char *const *words, bool both, char *out, size_t room);
// Standard output alone; standard error is thrown away.
int launch_read(char *const *words, char *out, size_t room);

// Sets a variable for what is started next (NULL: removes it) and gives its value before, for launch_setenv
// to put back.
char *launch_setenv(const char *name, const char *value);

struct launch {
    pid_t pid;
    int status; // as of waitpid, once it has ended
};

// Runs the program as a child that gets the signals we get. With `stdout_to` not -1 its standard output goes
// there. Returns 0 with *l filled, or the errno of fork or exec.
int launch_run(char *const *words, int stdout_to, struct launch *l);

// The exit status that says how it ended: its own, or 128 + the signal.
int launch_exit_status(int status);

// Ends this process the way the child ended: by the same signal, without a second core file, or returns the
// exit status to end with.
int launch_end_like(int status);

#endif
