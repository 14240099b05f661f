// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of building and running: the compilers, our own files, and a program with a race.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/doctor/doctor.h"
#include "cmd/launch/launch.h"
#include "cmd/toolchain/toolchain.h"

// Makes a folder for a check's files.
static char *make_folder(void)
{
    const char *dir = getenv("TMPDIR");
    char *path = cli_text("%s/railbird-XXXXXX", dir && *dir ? dir : "/tmp");

    return mkdtemp(path);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"a.c", "a.o", "a"};

    for (size_t i = 0; i < RB_LENGTH(names); i++)
        unlink(cli_text("%s/%s", folder, names[i]));
    rmdir(folder);
}

static bool write_source(const char *folder)
{
    FILE *out = fopen(cli_text("%s/a.c", folder), "we");

    if (!out)
        return false;
    fputs("int shared;\nint main(void) { return shared++; }\n", out);
    return fclose(out) == 0;
}

static bool has_ended_well(int status)
{
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Runs the words and keeps the first line of their output.
static int capture_first_line(struct cli_words *words, char *line, size_t room)
{
    const int status = launch_capture(words->word, true, line, room);

    line[strcspn(line, "\n")] = 0;
    return status;
}

// ---- compilers -----------------------------------------------------------------------------------------

static void check_compiler(struct finding *f, const char *name)
{
    struct cli_words words = {0};
    char version[128], said[160];
    char *path = cc_which(name), *folder;

    if (!path) {
        finding_set(f, FINDING_WARN, "not found");
        finding_change(f, "install %s if you want to build with it; one compiler is enough", name);
        return;
    }
    free(path);
    cli_words_split(&words, cli_text("%s --version", name));
    if (!has_ended_well(capture_first_line(&words, version, sizeof(version)))) {
        finding_set(f, FINDING_WARN, "%s --version fails: %s", name, version);
        finding_change(f, "reinstall %s", name);
        return;
    }
    folder = make_folder();
    if (!folder || !write_source(folder)) {
        finding_set(f, FINDING_WARN, "%s; not tried, because no temporary file can be made", version);
        finding_change(f, "set TMPDIR to a writable folder");
        return;
    }
    words = (struct cli_words){0};
    for (const char *const *w = (const char *const[]){name, "-fsanitize=thread", "-c", "-o", NULL}; *w; w++)
        cli_words_add(&words, *w);
    cli_words_add(&words, cli_text("%s/a.o", folder));
    cli_words_add(&words, cli_text("%s/a.c", folder));
    if (has_ended_well(capture_first_line(&words, said, sizeof(said)))) {
        finding_set(f, FINDING_OK, "%s; -fsanitize=thread compiles", version);
    } else {
        finding_set(f, FINDING_WARN, "%s; -fsanitize=thread does not compile: %s", version, said);
        finding_change(f, "install a complete %s with its headers (Debian: build-essential)", name);
    }
    remove_folder(folder);
}

void check_gcc(struct finding *f)
{
    check_compiler(f, "gcc");
}

void check_clang(struct finding *f)
{
    check_compiler(f, "clang");
}

// ---- our own files -------------------------------------------------------------------------------------

void check_runtime(struct finding *f)
{
    static const char *const names[] = {
        RB_RT_ARCHIVE,  RB_RT_SYMBOLS,        RB_RT_SHARED, RB_RT_SPECS, RB_RT_SHIMS "/libtsan.so.2",
        RB_RT_WRAP_CXX, RB_RT_ARCHIVE_STATIC, RB_RT_WRAP,
    };
    const size_t needed = RB_LENGTH(names) - 2; // the last two are only for -static

    for (size_t i = 0; i < RB_LENGTH(names); i++)
        if (access(cli_lib_file(names[i]), R_OK) < 0) {
            finding_set(f, i < needed ? FINDING_FAIL : FINDING_WARN, "missing: %s%s", cli_lib_file(names[i]),
                        i < needed ? "" : "; programs linked with -static cannot be built");
            finding_change(f, "run 'make' in the source, or 'make install'");
            return;
        }
    finding_set(f, FINDING_OK, "%s and what belongs to it are there", cli_lib_file(RB_RT_ARCHIVE));
}

// Runs a program with our runtime preloaded: this one, which has no hooks.
void check_preload(struct finding *f)
{
    char *preload = launch_setenv("LD_PRELOAD", cli_lib_file(RB_RT_SHARED));
    struct cli_words words = {0};
    char said[160];

    cli_words_add(&words, cli_tool_path());
    cli_words_add(&words, "--version");
    const bool fine =
        has_ended_well(capture_first_line(&words, said, sizeof(said))) && !strncmp(said, "railbird ", 9);
    free(launch_setenv("LD_PRELOAD", preload));
    free(preload);
    if (fine) {
        finding_set(f, FINDING_OK, "the shared runtime loads into a program that was not built for it");
        return;
    }
    finding_set(f, FINDING_FAIL, "%s does not load: %s", cli_lib_file(RB_RT_SHARED),
                said[0] ? said : "the program failed");
    finding_change(f, "run 'make' in the source, or 'make install'");
}

// Runs `railbird cc` as a user would, and then the program it builds.
void check_building(struct finding *f)
{
    struct cli_words words = {0};
    char *folder = make_folder(), said[160];

    if (!folder || !write_source(folder)) {
        finding_set(f, FINDING_WARN, "not tried, because no temporary file can be made");
        finding_change(f, "set TMPDIR to a writable folder");
        return;
    }
    for (const char *const *w = (const char *const[]){cli_tool_path(), "cc", "-o", NULL}; *w; w++)
        cli_words_add(&words, *w);
    cli_words_add(&words, cli_text("%s/a", folder));
    cli_words_add(&words, cli_text("%s/a.c", folder));
    if (!has_ended_well(capture_first_line(&words, said, sizeof(said)))) {
        finding_set(f, FINDING_FAIL, "'railbird cc' fails: %s", said);
        finding_change(f, "see the lines above, or name another compiler in RAILBIRD_CC");
    } else {
        words = (struct cli_words){0};
        cli_words_add(&words, cli_text("%s/a", folder));
        if (has_ended_well(capture_first_line(&words, said, sizeof(said))))
            finding_set(f, FINDING_OK, "'railbird cc' builds a program, and it runs");
        else {
            finding_set(f, FINDING_FAIL, "what 'railbird cc' builds does not run: %s", said);
            finding_change(f, "build railbird with the compiler that is used here, and run it again");
        }
    }
    remove_folder(folder);
}

void check_self_test(struct finding *f)
{
    if (access(cli_libexec_file("unlocked"), X_OK) == 0 && access(cli_libexec_file("locked"), X_OK) == 0 &&
        run_self_test(NULL)) {
        finding_set(f, FINDING_OK, "a planted race is found, the same under a lock left alone, %d times each",
                    RUN_SELF_TESTS);
        return;
    }
    finding_set(f, FINDING_FAIL, "a planted race is not found every time, or an order is reported");
    finding_change(f, "'railbird run --self-test' says which");
}

// Checks that the planted race is reported with its line.
void check_symbols(struct finding *f)
{
    char *options = launch_setenv("RAILBIRD_OPTIONS", "sampler=all");
    struct cli_words words = {0};
    char said[8192];

    setenv("RAILBIRD_TOOL", cli_tool_path(), 1);
    cli_words_add(&words, cli_libexec_file("unlocked"));
    launch_capture(words.word, true, said, sizeof(said));
    free(launch_setenv("RAILBIRD_OPTIONS", options));
    free(options);
    if (strstr(said, "planted.c:")) {
        finding_set(f, FINDING_OK, "reports name functions, files and lines");
        return;
    }
    finding_set(f, FINDING_WARN, "reports do not name files and lines");
    finding_change(
        f, "install elfutils' libdw and build programs with -g; 'railbird report' may be run elsewhere");
}
