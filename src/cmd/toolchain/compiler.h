// Which compiler to run, and which of the two kinds it is.
#ifndef RB_CMD_TOOLCHAIN_COMPILER_H
#define RB_CMD_TOOLCHAIN_COMPILER_H

#include "cmd/argument_list.h"

enum cc_family { CC_GCC, CC_CLANG };

struct cc_compiler {
    struct cli_words words; // the command, as "ccache" "gcc-12"
};

// From RAILBIRD_CC or RAILBIRD_CXX, else cc or c++. An exit status, after a line if it is not RB_EXIT_OK.
int cc_compiler_find(const char *command, bool cxx, struct cc_compiler *c);

// By name where the name says it (clang-19, x86_64-linux-gnu-gcc-12, a link to one of them); else the
// compiler is asked. What does not answer is taken for gcc.
enum cc_family cc_compiler_family(const struct cc_compiler *c);

// Our plugin for this gcc, or NULL: it is for the very release it was built with. RAILBIRD_BODIES=one does
// without.
const char *cc_compiler_plugin(const struct cc_compiler *c);

// Where the command is that a shell would run, without links on the way, or NULL.
char *cc_which(const char *name);

#endif
