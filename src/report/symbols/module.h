// One ELF file of the program and what its debugging information says of an address. Addresses are those in
// the file (ELF virtual addresses), whatever its kind: executable at a fixed place, position-independent,
// shared library. Information comes, best first, from DWARF in the file, in a separate file found by
// build-id or debug link, and from the symbol tables. Tool side.
#ifndef RB_REPORT_SYMBOLS_MODULE_H
#define RB_REPORT_SYMBOLS_MODULE_H

#include <jansson.h>

#include "base/types.h"

enum rb_elf_module_state {
    RB_ELF_MODULE_READABLE,
    RB_ELF_MODULE_UNREADABLE, // no such file, or not ELF
    RB_ELF_MODULE_DIFFERS     // its build-id is another one: built anew since the race was seen
};

struct rb_elf_module;

// Never NULL but when memory is out. `build_id` (hex, may be NULL) is what the file is expected to have.
// Separate debug files are looked for below `debug_path` (NULL: /usr/lib/debug).
struct rb_elf_module *rb_elf_module_open(const char *path, const char *build_id, const char *debug_path);
void rb_elf_module_close(struct rb_elf_module *m);
enum rb_elf_module_state rb_elf_module_state(const struct rb_elf_module *m);

// The functions that are active at the instruction: an array of objects with what is known of "function",
// "file", "line", "column", "function_line" and "inlined"; the innermost inlined function first, the
// one that has the code last. Empty if nothing is known. NULL when memory is out.
json_t *rb_elf_module_code(struct rb_elf_module *m, uint64_t address);
// The variable that holds the address: "name", "name_offset", "size", and "file" and "line" of its
// definition if they are cheap to find. NULL if there is none.
json_t *rb_elf_module_data(struct rb_elf_module *m, uint64_t address);

#endif
