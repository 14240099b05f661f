// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waits for the reporters of a killed program: they deliver its races, and end by themselves soon
// (run/report/reporter.h). Their command lines identify them, since they are not our children.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/launch/launch.h"

#define PAUSE_US 10000
#define PATIENCE 3000 // pauses

// Reads a file of the process with a NUL after it; returns the number of bytes.
static size_t read_about(const char *process, const char *file, char *text, size_t room)
{
    char path[64];
    ssize_t n = -1;

    snprintf(path, sizeof(path), "/proc/%.20s/%s", process, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, room - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

// Returns true if the process is a reporter of this program, or one that writes to this file.
static bool is_reporter(const char *words, size_t bytes, const char *program, const char *json)
{
    const char *end = words + bytes, *before = "";
    bool live = false, ours = false;

    for (const char *w = words; w < end; before = w, w += strlen(w) + 1) {
        live |= !strcmp(w, "--live");
        ours |= !strcmp(before, "--ring") && !strcmp(w, program);
        ours |= json && !strcmp(before, "--json-file") && !strcmp(w, json);
    }
    return live && ours;
}

// Returns true if the process is starting as a reporter: it has the reporter's name, and still the
// program's command line or none. Its program is not visible yet, but this state is short.
static bool is_beginning(const char *process, const char *words, size_t bytes)
{
    char name[32];

    read_about(process, "comm", name, sizeof(name));
    return !strcmp(name, "railbird-report\n") && *words &&
           !memmem(words, bytes, "\0--ring", sizeof("\0--ring"));
}

static bool has_reporter(const char *program, const char *json)
{
    static char words[16384];
    DIR *all = opendir("/proc");
    struct dirent *entry;
    bool any = false;

    while (all && !any && (entry = readdir(all)))
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name)) {
            const size_t bytes = read_about(entry->d_name, "cmdline", words, sizeof(words));
            any = is_reporter(words, bytes, program, json) || is_beginning(entry->d_name, words, bytes);
        }
    if (all)
        closedir(all);
    return any;
}

// Waits for two scans without a reporter, because a starting reporter moves from one process to another.
void run_await_reporters(pid_t program, const char *json)
{
    char number[24];
    unsigned none = 0;

    snprintf(number, sizeof(number), "%d", (int)program);
    for (unsigned i = 0; i < PATIENCE && none < 2; i++) {
        none = has_reporter(number, json) ? 0 : none + 1;
        if (!none)
            usleep(PAUSE_US);
    }
}
