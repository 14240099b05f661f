// What a compiler's command line asks for, as far as instrumentation and linking are concerned. gcc and clang
// alike; options nobody knows here are passed on, and what follows them is looked at as usual.
#ifndef RB_CMD_TOOLCHAIN_CC_LINE_H
#define RB_CMD_TOOLCHAIN_CC_LINE_H

#include "cmd/argument_list.h"

struct cc_line {
    bool query;           // --version, -print-...: the compiler answers and does nothing
    bool inputs;          // a file to work on, or a library
    bool code;            // a source that can be instrumented
    bool fortran;         // a source in Fortran, whose compiler does not know all options of the others
    bool stops;           // -c, -S, -E, -M, -fsyntax-only, headers alone: nothing is linked
    bool shared, partial; // -shared; -r
    bool is_static;       // -static, -static-pie
    bool static_cxx;      // -static-libstdc++
    bool bare;            // -nostdlib
    bool runtime;         // ours is named already, as by railbird.pc or the CMake package
    bool lto;             // code is made when it is linked
    bool thread;          // instrumentation is wanted: nobody said -fno-sanitize=thread
    bool other;           // another sanitizer, one that goes with ours (undefined, ...)
    char conflict[32];    // the name of one that does not, or ""
};

void cc_line_read(struct cc_line *line, const struct cli_words *arguments);

// The arguments for a link in which ours takes the place of TSan's runtime: without -fsanitize=thread and
// what goes with it, and for a shared library without the demand that nothing be left undefined, since the
// hooks are in the executable.
void cc_line_for_link(struct cli_words *out, const struct cc_line *line, const struct cli_words *arguments);

#endif
