// Z3, loaded when it is needed. Only one command uses it, and the tool is also the front end of a compiler:
// it must not take twice as long to start, and must work without the library. Tool side.
#ifndef RB_LAB_INJECT_Z3_LOAD_H
#define RB_LAB_INJECT_Z3_LOAD_H

#include <z3.h>

#include "base/error.h"

struct rb_z3 {
#define RB_Z3(name) __typeof__(&Z3_##name) name;
#include "lab/inject/z3_functions.def"
#undef RB_Z3
};
extern struct rb_z3 rb_z3; // written once, by the first rb_z3_load

// Loads Z3 once; any thread may call it. Returns 0, or a negative errno and in `e` (may be NULL) the
// package to install.
int rb_z3_load(struct rb_error *e);

#endif
