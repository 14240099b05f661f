// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds our own files, from the place of the running program.
#include "cmd/toolchain/toolchain.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cmd/argument_list.h"

// The name of the folder for libraries below the prefix, if it is not lib (Debian's packages: multiarch).
#ifndef RB_LIBDIR
#define RB_LIBDIR "lib"
#endif
#ifndef RB_LIBEXECDIR
#define RB_LIBEXECDIR "libexec"
#endif

// Returns the kernel's name for our file; without /proc the one that exec was given.
const char *cli_tool_path(void)
{
    static char path[PATH_MAX];

    if (!path[0]) {
        const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        const char *given = (const char *)getauxval(AT_EXECFN);
        if (n > 0)
            path[n] = 0;
        else if (!given || !realpath(given, path))
            snprintf(path, sizeof(path), "railbird");
    }
    return path;
}

// Returns the parent of the program's folder.
static const char *find_prefix(void)
{
    static char path[PATH_MAX];

    if (!path[0]) {
        snprintf(path, sizeof(path), "%s", cli_tool_path());
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(path, '/');
            if (slash)
                *slash = 0;
            else
                snprintf(path, sizeof(path), "%s", up ? ".." : ".");
        }
    }
    return path;
}

// Returns the installed place. RB_LIBDIR and RB_LIBEXECDIR may be absolute.
static const char *installed_file(const char *folder, const char *name)
{
    return folder[0] == '/' ? cli_text("%s/%s", folder, name)
                            : cli_text("%s/%s/%s", find_prefix(), folder, name);
}

// A build folder has its libraries in lib, also if the installed folder has another name.
const char *cli_lib_file(const char *name)
{
    const char *installed = installed_file(RB_LIBDIR, name);
    const char *built = cli_text("%s/lib/%s", find_prefix(), name);

    return access(installed, F_OK) == 0 && access(built, F_OK) != 0 ? installed : built;
}

const char *cli_libexec_file(const char *name)
{
    const char *installed = installed_file(RB_LIBEXECDIR "/railbird", name);
    const char *built = cli_text("%s/libexec/railbird/%s", find_prefix(), name);

    return access(installed, F_OK) == 0 && access(built, F_OK) != 0 ? installed : built;
}

bool cli_need_file(const char *command, const char *path)
{
    if (access(path, R_OK) == 0)
        return true;
    if (cli_tool_path()[0] != '/')
        fprintf(
            stderr,
            "railbird %s: the runtime is not found: /proc is not mounted, and the name railbird was started "
            "by leads nowhere\n",
            command);
    else
        fprintf(stderr,
                "railbird %s: the runtime is not there: expected %s; run 'make' in the source, or 'make "
                "install'\n",
                command, path);
    return false;
}
