// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the compiler, its family and our plugin for it.
#include "cmd/toolchain/toolchain.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/launch/launch.h"

char *cc_which(const char *name)
{
    char *found = launch_find(name), *real = found ? realpath(found, NULL) : NULL;

    free(found);
    return real;
}

int cc_compiler_find(const char *command, bool cxx, struct cc_compiler *c)
{
    const char *variable = cxx ? "RAILBIRD_CXX" : "RAILBIRD_CC", *text = getenv(variable);

    *c = (struct cc_compiler){0};
    if (text)
        cli_words_split(&c->words, text);
    if (c->words.count == 0)
        cli_words_add(&c->words, cxx ? "c++" : "cc");
    for (size_t i = 0; i < c->words.count; i++) {
        char *path = c->words.word[i][0] == '-' ? NULL : cc_which(c->words.word[i]);
        const bool ourselves = path && cli_same_file(path, cli_tool_path());

        free(path);
        if (ourselves) {
            fprintf(stderr, "railbird %s: %s=%s is railbird itself; expected the compiler it is to run\n",
                    command, variable, text ? text : "");
            return RB_EXIT_USAGE;
        }
    }
    return RB_EXIT_OK;
}

static bool read_family(const char *path, enum cc_family *family)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    if (!strstr(name, "clang") && !strstr(name, "gcc") && !strstr(name, "g++"))
        return false;
    *family = strstr(name, "clang") ? CC_CLANG : CC_GCC;
    return true;
}

enum cc_family cc_compiler_family(const struct cc_compiler *c)
{
    struct cli_words question = {0};
    enum cc_family family = CC_GCC;
    char answer[512] = "";

    for (size_t i = c->words.count; i-- > 0;) { // the last word that is not an option: ccache gcc -m64
        const char *word = c->words.word[i];
        char *path;

        if (word[0] == '-')
            continue;
        if (read_family(word, &family))
            return family;
        path = cc_which(word);
        const bool known = path && read_family(path, &family);
        free(path);
        if (known)
            return family;
    }
    cli_words_add_all(&question, &c->words);
    cli_words_add(&question, "--version");
    launch_read(question.word, answer, sizeof(answer));
    return strstr(answer, "clang") || strstr(answer, "LLVM") ? CC_CLANG : CC_GCC;
}

const char *cc_compiler_plugin(const struct cc_compiler *c)
{
    const char *bodies = getenv("RAILBIRD_BODIES");
    struct cli_words question = {0};
    char release[64] = "";

    if (bodies && !strcmp(bodies, "one"))
        return NULL;
    cli_words_add_all(&question, &c->words);
    cli_words_add(&question, "-dumpfullversion");
    launch_read(question.word, release, sizeof(release));
    release[strcspn(release, "\n")] = '\0';
    if (!release[0] || strchr(release, '/'))
        return NULL;
    const char *plugin = cli_lib_file(cli_text(RB_RT_PLUGIN, release));
    return access(plugin, R_OK) ? NULL : plugin;
}
