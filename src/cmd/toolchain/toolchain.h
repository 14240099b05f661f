// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compilers that `railbird cc` runs: the meaning of their command lines, the choice of the compiler,
// and the places of our own files.
#ifndef RB_CMD_TOOLCHAIN_TOOLCHAIN_H
#define RB_CMD_TOOLCHAIN_TOOLCHAIN_H

#include "cmd/argument_list.h"

// ---- command lines (cc_line.c) -------------------------------------------------------------------------
// The effect of a compiler's command line on instrumentation and linking, for gcc and clang alike. Unknown
// options are passed on, and the words after them are read as usual.

struct cc_line {
    bool query;           // --version, -print-...: the compiler answers and does nothing
    bool inputs;          // a file to work on, or a library
    bool code;            // a source that can be instrumented
    bool fortran;         // a source in Fortran; its compiler lacks some options of the others
    bool stops;           // -c, -S, -E, -M, -fsyntax-only, headers alone: nothing is linked
    bool shared, partial; // -shared; -r
    bool is_static;       // -static, -static-pie
    bool static_cxx;      // -static-libstdc++
    bool bare;            // -nostdlib
    bool runtime;         // ours is named already, as by railbird.pc or the CMake package
    bool lto;             // code is made when it is linked
    bool thread;          // instrumentation is wanted: no -fno-sanitize=thread is in effect
    bool other;           // another sanitizer, one that goes with ours (undefined, ...)
    char conflict[32];    // the name of one that does not, or ""
    bool compiles, quiet; // -c; -w
    const char *source;   // the last file of code
    unsigned sources;
    const char *output; // as -o names it, or NULL
};

void cc_line_read(struct cc_line *line, const struct cli_words *arguments);

// Adds the arguments for a link with our runtime in place of TSan's: without -fsanitize=thread and its
// companions. A shared library also loses the options against undefined symbols, since the hooks are in the
// executable.
void cc_line_for_link(struct cli_words *out, const struct cc_line *line, const struct cli_words *arguments);

// ---- the compiler (compiler.c) -------------------------------------------------------------------------

enum cc_family { CC_GCC, CC_CLANG };

struct cc_compiler {
    struct cli_words words; // the command, as "ccache" "gcc-12"
};

// Finds the compiler: RAILBIRD_CC or RAILBIRD_CXX, else cc or c++. Returns an exit status, after a message
// if it is not RB_EXIT_OK.
int cc_compiler_find(const char *command, bool cxx, struct cc_compiler *c);

// Returns the family by name (clang-19, x86_64-linux-gnu-gcc-12, a link to one of them), else by the
// compiler's answer to --version. A compiler without an answer counts as gcc.
enum cc_family cc_compiler_family(const struct cc_compiler *c);

// Returns our plugin for this gcc, or NULL: a plugin works only with the release that it was built with.
// RAILBIRD_BODIES=one disables it.
const char *cc_compiler_plugin(const struct cc_compiler *c);

// Returns the command that a shell would run, with links resolved, or NULL.
char *cc_which(const char *name);

// ---- our own files (install.c) -------------------------------------------------------------------------
// All files are found from the program's own place, so a build folder, an installation and a copy of one
// work alike: PREFIX/bin/railbird, PREFIX/lib (or the system's name for it) and PREFIX/libexec/railbird.

// Returns the running program, with links resolved. Never NULL ("railbird" if /proc is missing).
const char *cli_tool_path(void);

// Return "PREFIX/lib/NAME" and "PREFIX/libexec/railbird/NAME", also if the file is missing.
const char *cli_lib_file(const char *name);
const char *cli_libexec_file(const char *name);

// Returns true if the file is there; otherwise prints the expected place and the remedy.
bool cli_need_file(const char *command, const char *path);

#define RB_RT_ARCHIVE        "librailbird_rt.a"
#define RB_RT_ARCHIVE_STATIC "librailbird_rt_static.a" // for -static
#define RB_RT_WRAP           "railbird_rt.wrap"        // the linker's options that go with it
#define RB_RT_WRAP_CXX       "railbird_rt.cxx"         // for programs where only libstdc++ is static
#define RB_RT_SYMBOLS        "railbird_rt.syms"        // symbols of the runtime that an executable exports
#define RB_RT_SHARED         "librailbird_rt.so"
#define RB_RT_SPECS          "railbird/gcc.specs"
#define RB_RT_PLUGIN         "railbird/gcc-%s/bodies.so" // for that release of gcc
#define RB_RT_SHIMS          "railbird/shims"

#endif
