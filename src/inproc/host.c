// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inproc/host.h"

#include <sys/auxv.h>
#include <unistd.h>

struct rb_host rb_host;
struct rb_options rb_options;

static char *const *given;

bool rb_is_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

void rb_env_given(char *const *environment)
{
    given = environment;
}

const char *rb_env(const char *name)
{
    char *const *e = environ ? environ : given;

    if (rb_is_secure())
        return NULL;
    for (; e && *e; e++) {
        const char *a = *e, *b = name;
        while (*b && *a == *b)
            a++, b++;
        if (!*b && *a == '=')
            return a + 1;
    }
    return NULL;
}
