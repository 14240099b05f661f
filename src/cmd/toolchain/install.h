// Where our own files are. All of it is found from the program's own place, so a build folder, an
// installation and a copy of one work alike: PREFIX/bin/railbird, PREFIX/lib (or the system's name for it)
// and PREFIX/libexec/railbird.
#ifndef RB_CMD_TOOLCHAIN_INSTALL_H
#define RB_CMD_TOOLCHAIN_INSTALL_H

#include "base/types.h"

// The program that runs, without links on the way. Never NULL ("railbird" if /proc is not there).
const char *cli_tool_path(void);

// "PREFIX/lib/NAME" and "PREFIX/libexec/railbird/NAME", whether the file is there or not.
const char *cli_lib_file(const char *name);
const char *cli_libexec_file(const char *name);

// Is the file there? Else prints the line that says what was expected where, and what to do.
bool cli_need_file(const char *command, const char *path);

#define RB_RT_ARCHIVE        "librailbird_rt.a"
#define RB_RT_ARCHIVE_STATIC "librailbird_rt_static.a" // for -static
#define RB_RT_WRAP           "railbird_rt.wrap"        // the linker's options that go with it
#define RB_RT_WRAP_CXX       "railbird_rt.cxx"         // where only libstdc++ is static
#define RB_RT_SYMBOLS        "railbird_rt.syms"        // what an executable shows of the runtime
#define RB_RT_SHARED         "librailbird_rt.so"
#define RB_RT_SPECS          "railbird/gcc.specs"
#define RB_RT_PLUGIN         "railbird/gcc-%s/bodies.so" // for that release of gcc
#define RB_RT_SHIMS          "railbird/shims"

#endif
