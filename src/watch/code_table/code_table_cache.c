// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cache of code tables and of tables of atomic instructions: one for each build-id, below the user's cache
// folder. A table is written under a temporary name and renamed, so that a reader sees all of it or none, also with
// several writers.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch/code_table/code_table_build.h"
#include "watch/code_table/code_table_elf.h"

int rb_code_identify(const char *path, uint8_t id[RB_CODE_ID_BYTES], uint32_t *bytes, struct rb_error *e)
{
    struct rb_code_file f;
    const int failed = rb_code_file_open(&f, path, e);

    if (!failed) {
        memcpy(id, f.id, RB_CODE_ID_BYTES);
        *bytes = f.id_bytes;
    }
    rb_code_file_close(&f);
    return failed;
}

int rb_code_cache_path(const uint8_t *id, uint32_t bytes, const char *suffix, char *out, size_t room,
                       struct rb_error *e)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;

    if (cache && cache[0] == '/') // the standard says to ignore relative paths
        n = snprintf(out, room, "%s/railbird/code/", cache);
    else if (home && home[0])
        n = snprintf(out, room, "%s/.cache/railbird/code/", home);
    else
        return rb_bad_input(e, "neither XDG_CACHE_HOME nor HOME is set: no place for code tables");
    bytes = bytes < RB_CODE_ID_BYTES ? bytes : RB_CODE_ID_BYTES;
    if (n < 0 || (size_t)n + 2 * bytes + strlen(suffix) + 1 > room)
        return rb_bad_input(e, "the name of the cache folder is too long");
    for (uint32_t i = 0; i < bytes; i++)
        n += snprintf(out + n, room - (size_t)n, "%02x", id[i]);
    memcpy(out + n, suffix, strlen(suffix) + 1);
    return 0;
}

// Returns the slash of the path that so many others follow, or the first one.
static char *find_slash(char *path, unsigned others)
{
    char *slash = strrchr(path, '/');

    for (; slash > path && others; others--)
        do
            slash--;
        while (slash > path && *slash != '/');
    return slash;
}

// Makes the folders of a table: CACHE/railbird/code. CACHE itself is made in a folder that is there, as ~/.cache. Where
// that is missing there is no cache.
static int make_folders(const char *path, struct rb_error *e)
{
    char *copy = strdup(path);
    int failed = copy ? 0 : rb_internal(e, "no memory");

    for (char *slash = copy ? find_slash(copy, 2) : NULL; slash && !failed; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(copy, 0700) && errno != EEXIST)
            failed = rb_bad_input(e, "%s: %s", copy, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return failed;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

int rb_code_write(const void *data, size_t bytes, const char *path, struct rb_error *e)
{
    const size_t room = strlen(path) + sizeof(".XXXXXX");
    char *temporary = malloc(room);
    int failed = 0;

    if (!temporary)
        return rb_internal(e, "no memory");
    snprintf(temporary, room, "%s.XXXXXX", path);
    const int fd = mkstemp(temporary);
    if (fd < 0) {
        failed = rb_bad_input(e, "%s: %s", path, strerror(errno));
        free(temporary);
        return failed;
    }
    const mode_t mask = umask(0);
    umask(mask);
    if (!write_all(fd, data, bytes) || fchmod(fd, 0644 & ~mask))
        failed = rb_bad_input(e, "%s: %s", path, strerror(errno));
    if (close(fd) && !failed)
        failed = rb_bad_input(e, "%s: %s", path, strerror(errno));
    if (!failed && rename(temporary, path))
        failed = rb_bad_input(e, "%s: %s", path, strerror(errno));
    if (failed)
        unlink(temporary);
    free(temporary);
    return failed;
}

int rb_code_store(const void *data, size_t bytes, const char *path, struct rb_error *e)
{
    const int failed = make_folders(path, e);

    return failed ? failed : rb_code_write(data, bytes, path, e);
}

int rb_code_cached(const char *path, char *out, size_t room, struct rb_code_counts *counts, bool *made,
                   struct rb_error *e)
{
    uint8_t id[RB_CODE_ID_BYTES];
    struct rb_code_table there;
    struct rb_code_image image;
    uint32_t bytes;

    if (made)
        *made = false;
    int failed = rb_code_identify(path, id, &bytes, e);
    if (!failed)
        failed = rb_code_cache_path(id, bytes, ".rbc", out, room, e);
    if (failed)
        return failed;
    if (!rb_code_open(&there, out, id, bytes)) {
        rb_code_close(&there);
        return 0;
    }
    failed = rb_code_build(path, &image, e);
    if (!failed)
        failed = rb_code_store(image.header, (size_t)image.header->file_bytes, out, e);
    if (!failed && counts)
        *counts = image.counts;
    if (!failed && made)
        *made = true;
    rb_code_free(&image);
    return failed;
}
