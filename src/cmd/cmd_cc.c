// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird cc, railbird c++: the compiler with instrumentation, and our runtime where TSan's would be
// linked.
//
// The compilers insert the hooks at -fsanitize=thread; the same option makes their drivers link libtsan. So
// it may reach the part that compiles and must not reach the part that links, also if one command does
// both:
//   gcc    the driver does not see the option: a specs file passes it to cc1, cc1plus and lto1 (which -flto
//          runs at link time, so every link has it);
//   clang  -fno-sanitize-link-runtime (since clang 10), or -Xclang if another sanitizer's runtime is
//          wanted, which that option would leave out as well.
// Commands that only compile get the plain option, which ccache and distcc know.
//
// A gcc that our plugin was built for (docs/explanation/copies.md) gets the plugin, and needs nothing else. There are
// two exceptions: -flto, where a process without plugins makes the code, and Fortran, whose front end would
// warn.
//
// Our options come first, so later options of the user win: -fno-sanitize=thread disables all of them.
// Everything goes through exec: messages, statuses and signals are the compiler's own. Without the plugin a command
// that compiles one file runs as a child, since inline assembly in its object file orders threads unseen, and a note
// says so: all other atomic instructions are calls of hooks there.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/launch/launch.h"
#include "cmd/toolchain/toolchain.h"
#include "watch/code_table/code_table.h"

static const char help_text[] =
    "usage: railbird %s ARGUMENTS OF THE COMPILER\n"
    "\n"
    "Runs the compiler with everything passed through, instruments what it compiles and links the runtime "
    "into\n"
    "executables. CC=\"railbird cc\" and CXX=\"railbird c++\" work with make, Meson and autoconf; CMake "
    "wants one\n"
    "word: -DCMAKE_C_COMPILER=railbird-cc -DCMAKE_CXX_COMPILER=railbird-c++.\n"
    "\n"
    "  RAILBIRD_CC, RAILBIRD_CXX   the compilers (default cc and c++); gcc, or clang from 10 on; may hold\n"
    "                              arguments, as in RAILBIRD_CC=\"ccache gcc-12\"\n"
    "  RAILBIRD_BODIES=one         with gcc: no second body without hooks for functions, which makes code\n"
    "                              half as large again and run faster while it is not being looked at; inline\n"
    "                              assembly orders nothing then\n"
    "  RAILBIRD_NOTES=none         no line about inline assembly in a file: statements taken for atomics (gcc), or\n"
    "                              atomic instructions that are not seen; -w does the same\n"
    "\n"
    "A shared library (-shared) gets the hooks and no runtime: that is in the executable, or brought by\n"
    "'railbird run'. -fno-sanitize=thread leaves a file as it is. Other arguments are the compiler's; this "
    "text\n"
    "comes for -h alone.\n";

// gcc expands small memcpy and memset after instrumentation, so they would have no hooks; calls are
// intercepted.
static const char *const gcc_calls[] = {"-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove"};

// For dormant call sites, if there is no plugin. The last call in an instrumented function is the one of
// __tsan_func_exit: as a jump it could not be told from its callers' calls, and could never be dormant.
// Values stay in preserved registers around calls; rbp is a bad one of them. As a base it needs a
// displacement, and sums of three are slow, which costs a hot loop over arrays much time.
static const char *const for_dormant[] = {"-fno-optimize-sibling-calls", "-fno-omit-frame-pointer"};

// Both compilers move a conditional read of a variable out of a loop and put a hook on the moved read: a
// false race with a thread that never touched the variable (docs/explanation/copies.md). With the plugin, gcc does it
// after instrumentation.
static const char *const gcc_reads_early[] = {"-fno-tree-loop-im"};
static const char *const clang_reads_early[] = {"-mllvm", "-disable-licm-promotion"};

static void add_all(struct cli_words *out, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cli_words_add(out, words[i]);
}

// Adds our plugin for this compiler. Returns true if there is one.
static bool add_plugin(struct cli_words *out, const struct cc_compiler *compiler, enum cc_family family,
                       const struct cc_line *line)
{
    const bool fits = family == CC_GCC && line->code && !line->fortran && !line->lto;
    const char *plugin = fits ? cc_compiler_plugin(compiler) : NULL;

    if (plugin)
        cli_words_add(out, cli_text("-fplugin=%s", plugin));
    return plugin;
}

// Returns true if the plugin is there.
static bool add_compile(struct cli_words *out, const struct cc_compiler *compiler, enum cc_family family,
                        const struct cc_line *line)
{
    cli_words_add(out, "-fsanitize=thread");
    if (add_plugin(out, compiler, family, line))
        return true;
    add_all(out, for_dormant, RB_LENGTH(for_dormant));
    if (family == CC_GCC) {
        if (!line->fortran)
            add_all(out, gcc_calls, RB_LENGTH(gcc_calls));
        add_all(out, gcc_reads_early, RB_LENGTH(gcc_reads_early));
    } else {
        add_all(out, clang_reads_early, RB_LENGTH(clang_reads_early));
    }
    return false;
}

// Returns the last part of a path.
static const char *find_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

// Returns true if the note about the file may be wanted, by the plugin's rules (src/plugin/asm_hooks.cc).
static bool wants_note(const struct cc_line *line)
{
    const char *notes = getenv("RAILBIRD_NOTES");

    return line->compiles && line->sources == 1 && !line->quiet && !(notes && !strcmp(notes, "none")) &&
           strncmp(find_name(line->source), "conftest.", 9) != 0;
}

static const char *object_of(const struct cc_line *line)
{
    const char *name = find_name(line->source), *dot = strrchr(name, '.');

    return line->output ? line->output
                        : cli_text("%.*s.o", dot ? (int)(dot - name) : (int)strlen(name), name);
}

// Runs the compiler as a child, then writes the note. Returns the exit status, or -1 with errno if there is no
// compiler.
static int run_with_note(char *const *words, const struct cc_line *line)
{
    struct launch l;
    const int failed = launch_run(words, -1, &l);

    if (failed) {
        errno = failed;
        return -1;
    }
    const size_t count = l.status == 0 ? rb_object_atomics(object_of(line)) : 0;
    if (count)
        fprintf(
            stderr,
            "railbird: %s: %zu atomic instruction%s without hooks (inline assembly): order by %s is not seen\n",
            line->source, count, count == 1 ? "" : "s", count == 1 ? "it" : "them");
    return launch_end_like(l.status);
}

static void add_linker(struct cli_words *out, const char *word)
{
    cli_words_add(out, "-Xlinker"); // not -Wl: a comma in a folder's name would break it
    cli_words_add(out, word);
}

// Adds the runtime before the user's objects, at the place of the compilers' own runtimes. The whole
// archive is linked: a shared library may be the only user of a function in it.
static int add_runtime(const char *command, struct cli_words *out, const struct cc_line *line)
{
    const char *archive = cli_lib_file(line->is_static ? RB_RT_ARCHIVE_STATIC : RB_RT_ARCHIVE);
    const char *with = cli_lib_file(line->is_static ? RB_RT_WRAP : RB_RT_SYMBOLS);
    const char *cxx = line->static_cxx ? cli_lib_file(RB_RT_WRAP_CXX) : NULL;

    if (!cli_need_file(command, archive) || !cli_need_file(command, with) ||
        (cxx && !cli_need_file(command, cxx)))
        return RB_EXIT_INTERNAL;
    add_linker(out, "--whole-archive");
    add_linker(out, archive);
    add_linker(out, "--no-whole-archive");
    if (line->is_static) {
        add_linker(out, "--eh-frame-hdr"); // the stack walk needs it; gcc leaves it out of static programs
        cli_words_add(out, cli_text("-Wl,@%s", with)); // with -Xlinker the driver would expand the file
    } else {
        add_linker(out, cli_text("--dynamic-list=%s", with));
        if (cxx) // the wrappers of its functions
            cli_words_add(out, cli_text("-Wl,@%s", cxx));
    }
    cli_words_add(out, "-lpthread");
    cli_words_add(out, "-ldl");
    return RB_EXIT_OK;
}

static int add_link(const char *command, struct cli_words *out, const struct cc_compiler *compiler,
                    const struct cc_line *line, const struct cli_words *arguments)
{
    const enum cc_family family = cc_compiler_family(compiler);
    int status = RB_EXIT_OK;

    if (family == CC_GCC) {
        const char *specs = cli_lib_file(RB_RT_SPECS);
        if (!cli_need_file(command, specs))
            return RB_EXIT_INTERNAL;
        cli_words_add(out, cli_text("-specs=%s", specs));
        if (add_plugin(out, compiler, family, line))
            cli_words_add(out, "-fplugin-arg-bodies-here"); // for the specs
    } else if (line->code && line->other) {
        cli_words_add(out, "-Xclang");
        cli_words_add(out, "-fsanitize=thread");
    } else if (line->code) {
        cli_words_add(out, "-fsanitize=thread");
        cli_words_add(out, "-fno-sanitize-link-runtime");
    }
    if (family != CC_GCC && line->code) {
        add_all(out, for_dormant, RB_LENGTH(for_dormant));
        add_all(out, clang_reads_early, RB_LENGTH(clang_reads_early));
    }
    if (!line->shared && !line->partial && !line->bare && !line->runtime)
        status = add_runtime(command, out, line);
    cc_line_for_link(out, line, arguments);
    return status;
}

static int run_compiler(const char *command, bool cxx, int argc, char **argv)
{
    struct cli_words arguments = {0}, out = {0};
    struct cc_compiler compiler;
    struct cc_line line;
    int status;

    if (argc == 2 && !strcmp(argv[1], "-h")) {
        printf(help_text, command);
        return RB_EXIT_OK;
    }
    status = cc_compiler_find(command, cxx, &compiler);
    if (status != RB_EXIT_OK)
        return status;
    const bool expanded = cli_words_expand(&arguments, argc - 1, argv + 1);
    cc_line_read(&line, &arguments);
    if (line.conflict[0] && !line.query && line.inputs) {
        fprintf(stderr,
                "railbird %s: -fsanitize=%s does not go with instrumentation for races; leave it out, or add "
                "-fno-sanitize=thread\n",
                command, line.conflict);
        return RB_EXIT_USAGE;
    }

    cli_words_add_all(&out, &compiler.words);
    const bool ours = line.inputs && !line.query && line.thread;
    bool note = false;
    if (ours && !line.stops) {
        status = add_link(command, &out, &compiler, &line, &arguments);
        if (status != RB_EXIT_OK)
            return status;
    } else {
        if (ours && line.code)
            note = !add_compile(&out, &compiler, cc_compiler_family(&compiler), &line) && wants_note(&line);
        for (int i = 1; i < argc; i++) // response files unchanged
            cli_words_add(&out, argv[i]);
    }
    if (expanded)
        cli_words_fit(&out, compiler.words.count);
    if (note)
        status = run_with_note(out.word, &line);
    else
        execvp(out.word[0], out.word);
    if (note && status >= 0)
        return status;
    fprintf(stderr, "railbird %s: cannot run '%s': %s; %s names the compiler\n", command, out.word[0],
            strerror(errno), cxx ? "RAILBIRD_CXX" : "RAILBIRD_CC");
    return RB_EXIT_USAGE;
}

int cmd_cc(int argc, char **argv)
{
    return run_compiler("cc", false, argc, argv);
}

int cmd_cxx(int argc, char **argv)
{
    return run_compiler("c++", true, argc, argv);
}
