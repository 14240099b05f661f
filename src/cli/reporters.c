// Waits for the reporters of a program that was killed: they deliver what it had found, and end by themselves
// soon (rt/reporter.h). They are known by their command lines, since they are nobody's children.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"

#define PAUSE_US 10000
#define PATIENCE 3000 // pauses

// The words of a process's command line; returns how many bytes they have, each ended by a NUL.
static size_t read_words(const char *process, char *words, size_t room)
{
    char path[64];
    ssize_t n = -1;

    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", process);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, words, room - 1);
        close(fd);
    }
    words[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

// Returns true if it is a reporter of this program, or one that writes to this file.
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

static bool any_reporter(const char *program, const char *json)
{
    static char words[16384];
    DIR *all = opendir("/proc");
    struct dirent *entry;
    bool any = false;

    while (all && !any && (entry = readdir(all)))
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name))
            any = is_reporter(words, read_words(entry->d_name, words, sizeof(words)), program, json);
    if (all)
        closedir(all);
    return any;
}

void run_await_reporters(pid_t program, const char *json)
{
    char number[24];

    snprintf(number, sizeof(number), "%d", (int)program);
    for (unsigned i = 0; i < PATIENCE && any_reporter(number, json); i++)
        usleep(PAUSE_US);
}
