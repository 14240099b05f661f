#include "lab/inject/z3_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

struct rb_z3 rb_z3;

// The error of the only attempt; empty: none.
static char problem[256];

static void load_library(void)
{
    static const char *const files[] = {"libz3.so.4", "libz3.so"}; // Debian's name, and the common one
    void *library = NULL;

    for (size_t i = 0; i < RB_LENGTH(files) && !library; i++) {
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (!library && !problem[0])
            snprintf(problem, sizeof(problem), "%s", dlerror());
    }
    if (!library)
        return;
    problem[0] = 0;
#define RB_Z3(name)                                      \
    *(void **)&rb_z3.name = dlsym(library, "Z3_" #name); \
    if (!rb_z3.name && !problem[0])                      \
        snprintf(problem, sizeof(problem), "it has no Z3_%s", #name);
#include "lab/inject/z3_functions.def"
#undef RB_Z3
}

int rb_z3_load(struct rb_error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_library);
    if (!problem[0])
        return 0;
    if (e)
        rb_bad_input(e, "the solver Z3 cannot be loaded: %s; install it (Debian: libz3-4)", problem);
    return -ENOENT;
}
