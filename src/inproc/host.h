// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host of the code inside another program's process. It is the library that the code is part of (the
// runtime, or the agent of `railbird watch`), and the environment of the process. The library fills in
// rb_host and rb_options when it starts; all of it is read only from then on, except `sandboxed`.
//
// Invariant: in secure execution nothing is taken from the environment, because the caller wrote it and the
// program has rights that the caller lacks. The kernel says so with AT_SECURE (getauxval(3)): setuid,
// setgid, file capabilities, or a security module. The rule is that of secure_getenv(3). Only host.c reads
// the environment.
#ifndef RB_INPROC_HOST_H
#define RB_INPROC_HOST_H

#include "base/arena.h"
#include "base/options.h"
#include "base/types.h"

#define RB_TLS    __thread __attribute__((tls_model("initial-exec")))
#define RB_HIDDEN __attribute__((visibility("hidden")))
#define RB_EXPORT __attribute__((visibility("default")))
#define RB_WEAK   __attribute__((visibility("default"), weak))
#define RB_PC     ((uintptr_t)__builtin_return_address(0))

// Stands for the number of an unknown thread; numbers have 24 bits.
#define RB_NO_THREAD 0xffffffu

struct sigaction;

struct rb_host {
    bool sandboxed;       // the process filters system calls: only calls that it makes itself are made
    struct rb_arena kept; // memory that stays until the process ends, also in the child of a fork
    // libc's function, past the library's own; filled in before SIGTRAP is taken (traps.h).
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *old);
};
extern RB_HIDDEN struct rb_host rb_host;
extern RB_HIDDEN struct rb_options rb_options; // as the user set them

// Returns true if the program has rights that its caller may lack.
RB_HIDDEN bool rb_is_secure(void);
// Returns the value of a variable; NULL if it is not set, and always in secure execution.
RB_HIDDEN const char *rb_env(const char *name);
// Keeps the environment that the loader handed to the program, for use until libc has its own.
RB_HIDDEN void rb_env_given(char *const *environment);

// ---- LD_PRELOAD of a program that exec starts (preload.c) ----------------------------------------------
// Both are called in a child of fork: no allocation, no lock.

// Returns the bytes that rb_preload_drop needs; 0: the environment is handed on unchanged. With `search` the
// file is looked up in PATH, as execvp does.
RB_HIDDEN size_t rb_preload_room(const char *file, bool search, char *const *environment);
// Returns a copy of the environment without our libraries, made in `room`.
RB_HIDDEN char *const *rb_preload_drop(char *const *environment, void *room);

#endif
