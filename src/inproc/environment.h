// The environment as the runtime and the agent may read it: in this file alone.
//
// Invariant: in secure execution nothing is taken from the environment, because the caller wrote it and the
// program has rights that the caller lacks. The kernel says so with AT_SECURE (getauxval(3)): setuid, setgid,
// file capabilities, or a security module. The rule is that of secure_getenv(3).
#ifndef RB_INPROC_ENVIRONMENT_H
#define RB_INPROC_ENVIRONMENT_H

#include "inproc/host.h"

// Returns true if the program has rights that its caller may lack.
RB_HIDDEN bool rb_is_secure(void);
// Returns the value of a variable; NULL if it is not set, and always in secure execution.
RB_HIDDEN const char *rb_env(const char *name);
// Keeps the environment that the loader handed to the program, for use until libc has its own.
RB_HIDDEN void rb_env_given(char *const *environment);

#endif
