// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The look-up of the real functions for gomp.def: next in the order of loading, or in a library that a
// plugin has loaded for itself, or in one that is not loaded yet.
#include "run/openmp/gomp.h"

#include <string.h>

#include "inproc/modules.h"

#if !defined(RB_STATIC)
struct rb_omp_real rb_omp_real;

#define LIBRARIES 4
struct loaded {
    unsigned count;
    char path[LIBRARIES][512];
};

// Collects the OpenMP libraries that are loaded. They are opened afterwards, without the loader's lock.
static int list_library(struct dl_phdr_info *info, size_t size, void *given)
{
    static const char *const names[] = {"libgomp.so", "libomp.so", "libomp-", "libiomp5.so"};
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    struct loaded *l = given;

    (void)size;
    for (unsigned i = 0; slash && i < RB_LENGTH(names); i++)
        if (!strncmp(slash + 1, names[i], strlen(names[i])) && l->count < LIBRARIES &&
            strlen(info->dlpi_name) < sizeof(l->path[0]))
            strcpy(l->path[l->count++], info->dlpi_name);
    return 0;
}

static void *find_in_loaded(const char *name)
{
    struct loaded l = {0};
    void *found = NULL;

    dl_iterate_phdr(list_library, &l);
    for (unsigned i = 0; i < l.count && !found; i++) {
        void *library = dlopen(l.path[i], RTLD_NOLOAD | RTLD_LAZY);
        found = library ? dlsym(library, name) : NULL;
    }
    return found;
}

// A linker that leaves out unneeded libraries (--as-needed) counts our functions as the program's own. A
// program that uses no others then comes without its OpenMP library.
static void *find_in_unneeded(const char *name)
{
    static const char *const libraries[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
    const unsigned first = __builtin_strncmp(name, "__kmpc", 6) ? 0 : 1;
    void *found = NULL;

    for (unsigned i = first; i < RB_LENGTH(libraries) && !found; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_GLOBAL);
        found = library ? dlsym(library, name) : NULL;
    }
    return found;
}

void *rb_omp_real_find(void **slot, const char *name)
{
    const int saved = errno;
    void *found = NULL;

    if (!strncmp(name, "omp_", 4)) // libgomp has older versions of other layouts
        found = dlvsym(RTLD_NEXT, name, "OMP_3.0");
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = find_in_loaded(name);
    if (!found)
        found = find_in_unneeded(name);
    rb_store_relaxed(slot, found);
    errno = saved;
    return found;
}

bool rb_gomp_is_libomp(void)
{
    static uint32_t known; // 1: no, 2: yes
    const uint32_t is = rb_load_relaxed(&known);
    const int saved = errno;
    struct rb_module_map of;

    if (RB_LIKELY(is != 0))
        return is == 2;
    void *real = rb_omp_real_get((void **)(void *)&rb_omp_real.GOMP_parallel, "GOMP_parallel");
    const char *name = real && rb_module_find((uintptr_t)real, &of) && of.entry ? of.entry->l_name : "";
    void *library = name[0] ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    const bool libomp = library && dlsym(library, "__kmpc_fork_call");
    rb_store_relaxed(&known, libomp ? 2 : 1);
    errno = saved;
    return libomp;
}
#else
bool rb_gomp_is_libomp(void)
{
    return false;
}
#endif
