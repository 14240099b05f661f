// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the command lines of gcc and clang.
#include "cmd/toolchain/toolchain.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cli.h"

// Options with the value in the next word. Options with a joined value need no entry.
static const char *const with_value[] = {
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-B",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-F",
    "-G",
    "-b",
    "-V",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-include",
    "-include-pch",
    "-imacros",
    "-isystem",
    "-cxx-isystem",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-iquote",
    "-iframework",
    "-ivfsoverlay",
    "-imultilib",
    "-imultiarch",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-Xanalyzer",
    "-mllvm",
    "-mlinker-version",
    "-target",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-framework",
    "-rpath",
    "-resource-dir",
    "-working-directory",
    "-gcc-toolchain",
    "-specs",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-Tshared",
    "-stdlib++-isystem",
    "-undefined",
    "-install_name",
    "-current_version",
    "-compatibility_version",
    "--param",
    "--sysroot",
    "--output",
    "--language",
    "--include",
    "--imacros",
    "--define-macro",
    "--undefine-macro",
    "--include-directory",
    "--library-directory",
    "--entry",
    "--for-linker",
    "--for-assembler",
    "--serialize-diagnostics",
    "-serialize-diagnostics",
    "--config",
    "-dependency-file",
};

// Options that make the compiler answer a question and ignore all other arguments.
static const char *const queries[] = {
    "--version",    "--help",           "-help",      "--target-help", "-dumpmachine",
    "-dumpversion", "-dumpfullversion", "-dumpspecs",
};

static const char *const stopping[] = {
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--compile",
    "--assemble",
    "--preprocess",
    "--dependencies",
    "--user-dependencies",
    "--precompile",
    "--analyze",
    "-emit-pch",
    "-emit-ast",
    "-verify-pch",
};

// Suffixes as the compilers' manuals list them.
static const char *const code_suffixes[] = {
    "c",   "i",   "ii",  "m", "mi",   "mm",  "M",   "mii",  "cc",   "cp",  "cxx",
    "cpp", "CPP", "c++", "C", "cppm", "ixx", "ccm", "cxxm", "c++m", "tcc",
};
static const char *const fortran_suffixes[] = {
    "f",   "for", "ftn", "f77", "f90", "f95", "f03", "f08", "f18", "F",
    "FOR", "FTN", "F77", "F90", "F95", "F03", "F08", "F18", "fpp", "FPP",
};
static const char *const fortran_languages[] = {"f77", "f77-cpp-input", "f95", "f95-cpp-input"};
static const char *const header_suffixes[] = {"h", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++"};

// Sanitizers that exclude TSan by their instrumentation or runtime, in both compilers.
static const char *const conflicting[] = {
    "address",  "kernel-address", "hwaddress", "kernel-hwaddress", "memory",      "kernel-memory",
    "leak",     "dataflow",       "memtag",    "memtag-stack",     "memtag-heap", "memtag-globals",
    "realtime", "numerical",      "type",      "safe-stack",       "scudo",
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(word, list[i]))
            return true;
    return false;
}
#define IS_ONE_OF(word, list) is_one_of(word, list, RB_LENGTH(list))

static const char *text_after(const char *word, const char *start)
{
    const size_t n = strlen(start);

    return strncmp(word, start, n) ? NULL : word + n;
}

enum kind { KIND_OBJECT, KIND_CODE, KIND_FORTRAN, KIND_HEADER };

// Returns the kind by -x if given, else by the suffix; other files go to the linker or the assembler.
static enum kind find_kind(const char *file, const char *language)
{
    const char *dot = strrchr(file, '.');

    if (language && strcmp(language, "none")) {
        const char *rest = text_after(language, "objective-c");
        if (IS_ONE_OF(language, fortran_languages))
            return KIND_FORTRAN;
        if (!rest)
            rest = text_after(language, "c++");
        if (!rest && strcmp(language, "c") && strcmp(language, "cpp-output") && !text_after(language, "c-"))
            return KIND_OBJECT;
        return strstr(language, "-header") ? KIND_HEADER : KIND_CODE;
    }
    if (!strcmp(file, "-")) // gcc -E -
        return KIND_CODE;
    if (!dot || strchr(dot, '/'))
        return KIND_OBJECT;
    return IS_ONE_OF(dot + 1, code_suffixes)      ? KIND_CODE
           : IS_ONE_OF(dot + 1, fortran_suffixes) ? KIND_FORTRAN
           : IS_ONE_OF(dot + 1, header_suffixes)  ? KIND_HEADER
                                                  : KIND_OBJECT;
}

// Reads one item of a -fsanitize= or -fno-sanitize= list.
static void read_sanitizer(struct cc_line *line, const char *name, size_t length, bool on,
                           unsigned *conflicts, unsigned *others)
{
    const bool all = length == 3 && !strncmp(name, "all", 3);

    for (size_t i = 0; i < RB_LENGTH(conflicting); i++)
        if (all || (strlen(conflicting[i]) == length && !strncmp(name, conflicting[i], length))) {
            *conflicts = on ? *conflicts | 1u << i : *conflicts & ~(1u << i);
            if (!all)
                return;
        }
    if (all || (length == 6 && !strncmp(name, "thread", 6)))
        line->thread = on;
    if (all)
        *others = on;
    else if (on && !(length == 6 && !strncmp(name, "thread", 6)) &&
             !(length >= 6 && !strncmp(name, "fuzzer", 6))) // -fno-sanitize-link-runtime keeps its runtime
        (*others)++;
}

static void read_sanitizers(struct cc_line *line, const char *list, bool on, unsigned *conflicts,
                            unsigned *others)
{
    while (*list) {
        const size_t n = strcspn(list, ",");
        read_sanitizer(line, list, n, on, conflicts, others);
        list += n + (list[n] == ',');
    }
}

// Reads a word for the linker ("-Wl,..." item or the word after -Xlinker).
static void linker_word(struct cc_line *line, const char *word, size_t length)
{
    static const char *const shared[] = {"-shared", "--shared", "-Bshareable"};
    static const char *const partial[] = {"-r", "-i", "--relocatable"};
    char text[32];

    if (length >= sizeof(text))
        return;
    snprintf(text, sizeof(text), "%.*s", (int)length, word);
    line->shared |= IS_ONE_OF(text, shared);
    line->partial |= IS_ONE_OF(text, partial);
}

static void read_option(struct cc_line *line, const char *word, unsigned *conflicts, unsigned *others)
{
    const char *rest;

    if (IS_ONE_OF(word, queries) || text_after(word, "-print-") || text_after(word, "--print-") ||
        text_after(word, "--help="))
        line->query = true;
    else if (IS_ONE_OF(word, stopping)) {
        line->stops = true;
        line->compiles |= !strcmp(word, "-c") || !strcmp(word, "--compile");
    } else if (!strcmp(word, "-w"))
        line->quiet = true;
    else if (text_after(word, "-o"))
        line->output = text_after(word, "-o");
    else if (!strcmp(word, "-shared") || !strcmp(word, "--shared"))
        line->shared = true;
    else if (!strcmp(word, "-r"))
        line->partial = true;
    else if (!strcmp(word, "-static") || !strcmp(word, "--static") || !strcmp(word, "-static-pie"))
        line->is_static = true;
    else if (!strcmp(word, "-static-libstdc++"))
        line->static_cxx = true;
    else if (!strcmp(word, "-nostdlib") || !strcmp(word, "--no-standard-libraries"))
        line->bare = true;
    else if ((rest = text_after(word, "-fsanitize=")))
        read_sanitizers(line, rest, true, conflicts, others);
    else if ((rest = text_after(word, "-fno-sanitize=")))
        read_sanitizers(line, rest, false, conflicts, others);
    else if ((rest = text_after(word, "-Wl,")))
        while (*rest) {
            const size_t n = strcspn(rest, ",");
            linker_word(line, rest, n);
            rest += n + (rest[n] == ',');
        }
    else if (text_after(word, "-l"))
        line->inputs = true;
    else if (text_after(word, "-flto"))
        line->lto = true;
}

void cc_line_read(struct cc_line *line, const struct cli_words *arguments)
{
    const char *language = NULL;
    unsigned conflicts = 0, others = 0;
    bool only_headers = true, only_files = false;

    *line = (struct cc_line){.thread = true};
    for (size_t i = 0; i < arguments->count; i++) {
        const char *word = arguments->word[i], *value = arguments->word[i + 1];

        line->runtime |= strstr(word, "librailbird_rt") || !strcmp(word, "-lrailbird_rt");
        if (only_files || word[0] != '-' || !word[1]) {
            const enum kind kind = find_kind(word, language);
            line->inputs = true;
            line->code |= kind != KIND_OBJECT;
            if (kind != KIND_OBJECT) {
                line->source = word;
                line->sources++;
            }
            line->fortran |= kind == KIND_FORTRAN;
            only_headers &= kind == KIND_HEADER;
        } else if (!strcmp(word, "--")) {
            only_files = true;
        } else if (IS_ONE_OF(word, with_value)) {
            if (value && (!strcmp(word, "-x") || !strcmp(word, "--language")))
                language = value;
            else if (value && !strcmp(word, "-Xlinker"))
                linker_word(line, value, strlen(value));
            else if (!strcmp(word, "-l"))
                line->inputs = true;
            else if (!strcmp(word, "-o") || !strcmp(word, "--output"))
                line->output = value;
            i += value != NULL;
        } else if (text_after(word, "-x") && word[2] >= 'a' && word[2] <= 'z') { // not Intel's -xHost
            language = word + 2;
        } else {
            read_option(line, word, &conflicts, &others);
        }
    }
    line->stops |= line->code && only_headers;
    line->other = others > 0;
    for (size_t i = 0; i < RB_LENGTH(conflicting); i++)
        if (conflicts >> i & 1 && line->thread)
            snprintf(line->conflict, sizeof(line->conflict), "%s", conflicting[i]);
}

// ---- for the linker ------------------------------------------------------------------------------------

// Adds the list without `thread`; adds nothing if the rest is empty.
static void add_without_thread(struct cli_words *out, const char *option_name, const char *list)
{
    char *kept = cli_text("%s", option_name);
    bool any = false;

    while (*list) {
        const size_t n = strcspn(list, ",");
        if (!(n == 6 && !strncmp(list, "thread", 6))) {
            kept = cli_text("%s%s%.*s", kept, any ? "," : "", (int)n, list);
            any = true;
        }
        list += n + (list[n] == ',');
    }
    if (any)
        cli_words_add(out, kept);
}

static bool demands_definitions(const char *word)
{
    return !strcmp(word, "--no-undefined") || !strcmp(word, "-no-undefined") || !strcmp(word, "-zdefs");
}

// Adds the list without demands for definitions: "-Wl,-z,defs,-z,now" becomes "-Wl,-z,now".
static void add_linker_list(struct cli_words *out, const char *list)
{
    struct cli_words items = {0};
    char *kept = cli_text("-Wl");
    bool any = false;

    while (*list) {
        const size_t n = strcspn(list, ",");
        cli_words_add(&items, cli_text("%.*s", (int)n, list));
        list += n + (list[n] == ',');
    }
    for (size_t i = 0; i < items.count; i++) {
        const char *item = items.word[i], *next = items.word[i + 1];

        if (demands_definitions(item))
            continue;
        if (!strcmp(item, "-z") && next && !strcmp(next, "defs")) {
            i++;
            continue;
        }
        kept = cli_text("%s,%s", kept, item);
        any = true;
    }
    if (any)
        cli_words_add(out, kept);
}

// Returns the number of words from here on that forbid undefined symbols: "-z defs", "-Xlinker -z -Xlinker
// defs".
static size_t count_demand(char *const *word)
{
    if (!strcmp(word[0], "-z") && word[1] && !strcmp(word[1], "defs"))
        return 2;
    if (!strcmp(word[0], "-zdefs"))
        return 1;
    if (!strcmp(word[0], "-Wl,-z") && word[1] && !strcmp(word[1], "-Wl,defs"))
        return 2;
    if (strcmp(word[0], "-Xlinker") || !word[1])
        return 0;
    if (demands_definitions(word[1]))
        return 2;
    return !strcmp(word[1], "-z") && word[2] && !strcmp(word[2], "-Xlinker") && word[3] &&
                   !strcmp(word[3], "defs")
               ? 4
               : 0;
}

void cc_line_for_link(struct cli_words *out, const struct cc_line *line, const struct cli_words *arguments)
{
    static const char *const runtime_choice[] = {"-static-libtsan", "-shared-libsan", "-static-libsan",
                                                 "-shared-libasan"};
    bool only_files = false;

    for (size_t i = 0; i < arguments->count; i++) {
        char *const *word = &arguments->word[i];
        const char *rest;
        const size_t dropped = line->shared && !only_files ? count_demand(word) : 0;

        if (dropped) {
            i += dropped - 1;
        } else if (only_files || word[0][0] != '-') {
            cli_words_add(out, *word);
        } else if (IS_ONE_OF(*word, with_value)) {
            cli_words_add(out, *word);
            if (word[1])
                cli_words_add(out, arguments->word[++i]);
        } else if ((rest = text_after(*word, "-fsanitize="))) {
            add_without_thread(out, "-fsanitize=", rest);
        } else if ((rest = text_after(*word, "-fno-sanitize="))) {
            add_without_thread(out, "-fno-sanitize=", rest);
        } else if (line->shared && (rest = text_after(*word, "-Wl,"))) {
            add_linker_list(out, rest);
        } else if (line->other || !IS_ONE_OF(*word, runtime_choice)) {
            cli_words_add(out, *word);
            only_files = !strcmp(*word, "--");
        }
    }
}
