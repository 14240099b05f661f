// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names for a race: functions, files and lines for the frames of every stack in it, and a variable for a
// global location. Also the lines of source around a frame. Tool side.
#ifndef RB_REPORT_SYMBOLS_SYMBOLS_H
#define RB_REPORT_SYMBOLS_SYMBOLS_H

#include <jansson.h>

#include "base/error.h"

// ---- records (symbolize.c) -----------------------------------------------------------------------------
// Modules are opened once, addresses are looked up once. A frame's "offset" is the return address of the
// call, so the instruction is looked up one byte before it. Existing names are left alone. A frame that
// cannot get names has the reason in "note".

struct rb_symbolizer;

// `debug_path` is one more folder with separate debug files; NULL for none. Returns NULL if out of memory.
struct rb_symbolizer *rb_symbolizer_new(const char *debug_path);
void rb_symbolizer_free(struct rb_symbolizer *s);
int rb_symbolize(struct rb_symbolizer *s, json_t *record, struct rb_error *e);

// ---- modules (module.c) --------------------------------------------------------------------------------
// One ELF file of the program and its debugging information for an address. Addresses are those in the file
// (ELF virtual addresses) for every kind of file: executable at a fixed place, position-independent, shared
// library. Information comes, best first, from DWARF in the file, from a separate file found by build-id or
// debug link, and from the symbol tables.

enum rb_elf_module_state {
    RB_ELF_MODULE_READABLE,
    RB_ELF_MODULE_UNREADABLE, // no such file, or not ELF
    RB_ELF_MODULE_DIFFERS     // its build-id is another one: it was rebuilt after the race was seen
};

struct rb_elf_module;

// Returns NULL only if out of memory. `build_id` (hex, may be NULL) is the expected build-id of the file.
// Separate debug files are searched below `debug_path` (NULL: /usr/lib/debug).
struct rb_elf_module *rb_elf_module_open(const char *path, const char *build_id, const char *debug_path);
void rb_elf_module_close(struct rb_elf_module *m);
enum rb_elf_module_state rb_elf_module_state(const struct rb_elf_module *m);

// Returns the functions that are active at the instruction: an array of objects with the known ones of
// "function", "file", "line", "column", "function_line" and "inlined". The innermost inlined function comes
// first, the function that owns the code last. Empty if nothing is known; NULL if out of memory.
json_t *rb_elf_module_code(struct rb_elf_module *m, uint64_t address);
// Returns the variable that holds the address: "name", "name_offset", "size", and "file" and "line" of its
// definition if they are cheap to find. NULL if there is none.
json_t *rb_elf_module_data(struct rb_elf_module *m, uint64_t address);

// ---- mangled names (demangle.c) ------------------------------------------------------------------------
// Names come from the files of a report and may be hostile: output, time and stack are bounded.

// Writes the C++ name of the source into `out` of `room` bytes and returns true. Returns false, with `out`
// undefined, for a name that is not mangled, does not fit, or takes too long. Not reentrant.
bool rb_demangle(const char *symbol, char *out, size_t room);

// ---- source (source.c) ---------------------------------------------------------------------------------
// Lines of source files around a frame, for pages. A report from elsewhere may name any file, and pages are
// published. So only regular files with a suffix of source code are opened; the rest of the file system
// stays out of the page. Files are kept while memory allows.

struct rb_source_file;

struct rb_sources {
    struct rb_source_file *list;
    size_t count, room, bytes;
};

struct rb_line {
    const char *text; // not terminated, perhaps not UTF-8
    size_t length;
};

void rb_sources_free(struct rb_sources *s);
// Puts lines first .. first + count - 1 (from 1), as far as the file has them, into `lines` and returns
// their number. They stay valid until the sources are freed.
size_t rb_source_lines(struct rb_sources *s, const char *path, size_t first, size_t count,
                       struct rb_line *lines);

#endif
