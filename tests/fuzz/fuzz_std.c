// Any bytes as STD text: refused with a message, or imported into a trace that opens, whose text imports into
// the same text again.
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/std/std.h"

// The text of the trace that `text` is imported into; NULL if it is refused.
static char *through(const char *text, size_t bytes, bool lenient, size_t *out_bytes)
{
    const int from = memfd_create("text", MFD_CLOEXEC), to = memfd_create("trace", MFD_CLOEXEC);
    struct rb_std_notes notes;
    struct rb_error e = {0};
    struct rb_writer w;
    struct rb_reader r;
    uint64_t foreign, renamed;
    char path[64], *back = NULL;

    if (from < 0 || to < 0 || write(from, text, bytes) != (ssize_t)bytes)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
    if (rb_writer_open(&w, "trace", to, NULL, &e) < 0)
        abort();
    const int status = rb_std_import(path, &w, lenient, &notes, &e);
    close(from);
    if (status < 0) {
        if (e.fault != RB_FAULT_INPUT)
            abort();
        return NULL;
    }
    if (rb_reader_open_fd(&r, to, "trace", &e) < 0)
        abort();
    FILE *out = open_memstream(&back, out_bytes);
    if (!out || rb_std_export(&r, out, &foreign, &renamed, &e) < 0 || renamed != 0)
        abort();
    fclose(out);
    rb_reader_close(&r);
    return back;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); // libFuzzer has no header for it

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t once_bytes = 0, twice_bytes = 0;

    free(through((const char *)data, size, false, &once_bytes));
    char *once = through((const char *)data, size, true, &once_bytes);
    if (!once)
        return 0;
    char *twice = through(once, once_bytes, true, &twice_bytes);
    if (!twice || twice_bytes != once_bytes || memcmp(once, twice, once_bytes) != 0)
        abort();
    free(once);
    free(twice);
    return 0;
}
