// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of code and data in one ELF file, by libdw. clang writes no .debug_aranges, so a miss there proves
// nothing and all compilation units are searched.
#include "report/symbols/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/race_record.h"

struct variable {
    Dwarf_Addr at;
    Dwarf_Die die;
};

struct rb_elf_module {
    enum rb_elf_module_state state;
    Dwfl *session;
    Dwfl_Module *elf;
    Dwarf *dwarf;     // NULL if there is none
    Dwarf_Addr shift; // address in the file - address in its DWARF
    char *debug_path;
    Dwfl_Callbacks callbacks;
    struct variable *variables; // by address, once `listed`
    size_t variable_count, variable_room;
    bool listed;
};

// ---- open, close ---------------------------------------------------------------------------------------

static bool has_build_id(Dwfl_Module *elf, const char *expected)
{
    const unsigned char *bytes;
    GElf_Addr at;
    const int count = dwfl_module_build_id(elf, &bytes, &at);

    if (count <= 0 || strlen(expected) != 2 * (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        char digits[3];
        snprintf(digits, sizeof(digits), "%02x", bytes[i]);
        if (strncasecmp(digits, expected + 2 * i, 2))
            return false;
    }
    return true;
}

static bool begin_session(struct rb_elf_module *m, const char *path)
{
    GElf_Addr bias;
    // Without O_NONBLOCK, opening a pipe in place of the file would block for ever.
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;
    m->callbacks.find_elf = dwfl_build_id_find_elf;
    m->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    m->callbacks.section_address = dwfl_offline_section_address;
    m->callbacks.debuginfo_path = m->debug_path ? &m->debug_path : NULL;
    m->session = dwfl_begin(&m->callbacks);
    if (m->session) {
        dwfl_report_begin(m->session);
        m->elf = dwfl_report_elf(m->session, path, path, fd, 0, true);
        dwfl_report_end(m->session, NULL, NULL);
    }
    if (!m->elf) {
        close(fd); // else it is the session's
        return false;
    }
    return dwfl_module_getelf(m->elf, &bias) != NULL;
}

struct rb_elf_module *rb_elf_module_open(const char *path, const char *build_id, const char *debug_path)
{
    struct rb_elf_module *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    // '+' and '-' tell libdwfl whether to check the CRC; "" is the folder of the file, as in the default
    if (debug_path && asprintf(&m->debug_path, ":.debug:%s:/usr/lib/debug", debug_path) < 0)
        m->debug_path = NULL;
    if (!begin_session(m, path))
        m->state = RB_ELF_MODULE_UNREADABLE;
    else if (build_id && *build_id && !has_build_id(m->elf, build_id))
        m->state = RB_ELF_MODULE_DIFFERS;
    else
        m->dwarf = dwfl_module_getdwarf(m->elf, &m->shift);
    return m;
}

void rb_elf_module_close(struct rb_elf_module *m)
{
    if (!m)
        return;
    if (m->session)
        dwfl_end(m->session);
    free(m->debug_path);
    free(m->variables);
    free(m);
}

enum rb_elf_module_state rb_elf_module_state(const struct rb_elf_module *m)
{
    return m->state;
}

// ---- names ---------------------------------------------------------------------------------------------

// Returns the name in the source, for free(). A suffix after a dot (.constprop.0, .part.1, .llvm.12; .0 for
// a function's static variable) tells copies of one source entity apart.
static char *source_name(const char *symbol)
{
    char *name = strndup(symbol, *symbol ? 1 + strcspn(symbol + 1, ".") : 0), demangled[RB_TEXT_LIMIT];

    if (!name || !rb_demangle(name, demangled, sizeof(demangled)))
        return name;
    free(name);
    return strdup(demangled);
}

static void set_name(json_t *object, const char *key, const char *name)
{
    char *text = name ? source_name(name) : NULL;

    if (text)
        json_object_set_new(object, key, rb_json_text(text));
    free(text);
}

static const char *die_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

    if (!name)
        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    if (!name)
        name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    return name;
}

// Sets "file". A name in the line table may be relative to the folder where the compiler ran.
static void set_file(json_t *object, const char *file, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *folder;
    char *whole;

    if (!file)
        return;
    while (!strncmp(file, "./", 2))
        file += 2;
    folder = *file == '/' ? NULL : dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    if (asprintf(&whole, "%s%s%s", folder ? folder : "", folder ? "/" : "", file) < 0)
        return;
    json_object_set_new(object, "file", rb_json_text(whole));
    free(whole);
}

// Sets "file" from an attribute with a number in its unit's table. From DWARF 5 on number 0 is a file too,
// which dwarf_decl_file of some releases rejects.
static void set_attribute_file(json_t *object, Dwarf_Attribute *attribute)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    Dwarf_Half version;
    Dwarf_Word number;
    size_t count;

    if (attribute && dwarf_formudata(attribute, &number) == 0 &&
        dwarf_cu_info(attribute->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) == 0 &&
        (number || version >= 5) && dwarf_getsrcfiles(&unit, &files, &count) == 0 && number < count)
        set_file(object, dwarf_filesrc(files, number, NULL, NULL), &unit);
}

static void set_number(json_t *object, const char *key, int number)
{
    if (number > 0)
        json_object_set_new(object, key, json_integer(number));
}

// ---- code ----------------------------------------------------------------------------------------------

// Finds the unit of the address: `unit` has the lines, `tree` the functions (in another file if DWARF is
// split).
static bool find_unit(Dwarf *dwarf, Dwarf_Addr address, Dwarf_Die *unit, Dwarf_Die *tree)
{
    Dwarf_CU *at = NULL;
    Dwarf_Die split;
    uint8_t kind;
    bool found = dwarf_addrdie(dwarf, address, unit) != NULL;

    while (!found && dwarf_get_units(dwarf, at, &at, NULL, NULL, unit, NULL) == 0)
        found = dwarf_haspc(unit, address) == 1;
    if (!found)
        return false;
    *tree = *unit;
    if (dwarf_cu_info(unit->cu, NULL, &kind, NULL, &split, NULL, NULL, NULL) == 0 && kind == DW_UT_skeleton &&
        dwarf_tag(&split) != DW_TAG_invalid)
        *tree = split;
    return true;
}

#define DEEPEST 64 // functions inlined into each other

// Puts the functions that contain the address in `chain`, the outermost first, and returns their number.
// dwarf_getscopes would do the same, but gives up if the inlined function is in another unit, as with
// link-time optimization. `everywhere` also searches below functions that do not contain the address: GNU
// C's nested functions are there.
static int active_functions(Dwarf_Die *parent, Dwarf_Addr address, bool everywhere, int depth,
                            Dwarf_Die chain[DEEPEST])
{
    Dwarf_Die child;
    int count = 0;

    if (depth >= DEEPEST || dwarf_child(parent, &child) != 0)
        return 0;
    do {
        const int tag = dwarf_tag(&child);
        const bool function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        if (function || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
            const bool here = dwarf_haspc(&child, address) == 1;
            if (here || everywhere)
                count = active_functions(&child, address, everywhere, depth + 1, chain + (here && function));
            if (here && function) {
                chain[0] = child;
                return count + 1;
            }
        } else if (tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
                   tag == DW_TAG_structure_type) {
            count = active_functions(&child, address, everywhere, depth + 1, chain);
        }
    } while (!count && dwarf_siblingof(&child, &child) == 0);
    return count;
}

static const char *code_symbol(struct rb_elf_module *m, Dwarf_Addr address)
{
    GElf_Off into;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(m->elf, address, &into, &symbol, NULL, NULL, NULL);
    const int kind = name ? GELF_ST_TYPE(symbol.st_info) : STT_OBJECT;

    if ((kind != STT_FUNC && kind != STT_NOTYPE && kind != STT_GNU_IFUNC) ||
        (symbol.st_size && into >= symbol.st_size))
        return NULL;
    return *name ? name : NULL;
}

// Returns the name of a function. g++ gives no linkage name to functions that are local to a file, but the
// symbol table has it.
static const char *function_name(struct rb_elf_module *m, Dwarf_Die *function)
{
    const char *name = die_name(function), *symbol = NULL;
    Dwarf_Addr entry;

    if (name && strncmp(name, "_Z", 2) && dwarf_tag(function) == DW_TAG_subprogram &&
        dwarf_entrypc(function, &entry) == 0)
        symbol = code_symbol(m, entry + m->shift);
    return symbol && !strncmp(symbol, "_Z", 2) ? symbol : name;
}

static void set_attribute_number(json_t *frame, const char *key, Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= INT_MAX)
        set_number(frame, key, (int)value);
}

// Sets the place of the call of the inlined function, which is the place in its caller.
static void set_call(json_t *frame, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;

    set_attribute_file(frame, dwarf_attr(inlined, DW_AT_call_file, &attribute));
    set_attribute_number(frame, "line", inlined, DW_AT_call_line);
    set_attribute_number(frame, "column", inlined, DW_AT_call_column);
}

static void set_line(json_t *frame, Dwarf_Die *unit, Dwarf_Addr address)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0, column = 0;

    if (!line)
        return;
    dwarf_lineno(line, &number);
    dwarf_linecol(line, &column);
    set_file(frame, dwarf_linesrc(line, NULL, NULL), unit);
    set_number(frame, "line", number);
    if (number)
        set_number(frame, "column", column);
}

// Appends the frames that DWARF knows. The last one may lack a function.
static void append_dwarf_frames(struct rb_elf_module *m, Dwarf_Addr address, json_t *frames)
{
    Dwarf_Die unit, tree, chain[DEEPEST];
    json_t *frame;
    int count, line;

    if (!m->dwarf || !find_unit(m->dwarf, address, &unit, &tree))
        return;
    frame = json_object();
    set_line(frame, &unit, address);
    count = active_functions(&tree, address, false, 0, chain);
    if (!count)
        count = active_functions(&tree, address, true, 0, chain);
    while (count-- > 0) {
        Dwarf_Die *function = &chain[count];
        set_name(frame, "function", function_name(m, function));
        if (dwarf_decl_line(function, &line) == 0)
            set_number(frame, "function_line", line);
        if (dwarf_tag(function) == DW_TAG_subprogram)
            break;
        json_object_set_new(frame, "inlined", json_true());
        json_array_append_new(frames, frame);
        frame = json_object();
        set_call(frame, function);
    }
    if (json_object_size(frame))
        json_array_append_new(frames, frame);
    else
        json_decref(frame);
}

json_t *rb_elf_module_code(struct rb_elf_module *m, uint64_t address)
{
    json_t *frames = json_array(), *last;
    const char *name;

    if (!frames || m->state != RB_ELF_MODULE_READABLE)
        return frames;
    append_dwarf_frames(m, address - m->shift, frames);
    last = json_array_get(frames, json_array_size(frames) - 1);
    if (last && json_object_get(last, "function"))
        return frames;
    name = code_symbol(m, address);
    if (!name)
        return frames;
    if (!last && json_array_append_new(frames, last = json_object()) < 0)
        return frames;
    set_name(last, "function", name);
    return frames;
}

// ---- data ----------------------------------------------------------------------------------------------

#define CHEAP (4u << 20) // bytes of .debug_info that are walked for the place of a variable: ~30 ms

// Returns false for a variable that has no fixed address.
static bool read_address(Dwarf_Die *variable, Dwarf_Addr *address)
{
    Dwarf_Attribute attribute, indirect;
    Dwarf_Op *operations;
    size_t count;

    if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
        dwarf_getlocation(&attribute, &operations, &count) != 0 || count != 1)
        return false;
    if (operations[0].atom == DW_OP_addr) {
        *address = operations[0].number;
        return true;
    }
    return (operations[0].atom == DW_OP_addrx || operations[0].atom == DW_OP_GNU_addr_index) &&
           dwarf_getlocation_attr(&attribute, operations, &indirect) == 0 &&
           dwarf_formaddr(&indirect, address) == 0;
}

// Adds a variable to the list. If out of memory, the variable has no place in the report.
static void list_variable(struct rb_elf_module *m, Dwarf_Die *die)
{
    Dwarf_Addr at;

    if (!read_address(die, &at))
        return;
    if (m->variable_count == m->variable_room) {
        const size_t room = m->variable_room ? 2 * m->variable_room : 256;
        struct variable *grown = realloc(m->variables, room * sizeof(*grown));
        if (!grown)
            return;
        m->variables = grown;
        m->variable_room = room;
    }
    m->variables[m->variable_count++] = (struct variable){at, *die};
}

// Lists variables, also below namespaces and functions: a function's static variables are its children.
static void list_variables(struct rb_elf_module *m, Dwarf_Die *parent, int depth)
{
    Dwarf_Die child;

    if (depth > 16 || dwarf_child(parent, &child) != 0)
        return;
    do {
        switch (dwarf_tag(&child)) {
        case DW_TAG_variable:
            list_variable(m, &child);
            break;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
            list_variables(m, &child, depth + 1);
            break;
        default:
            break;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
}

// Orders variables by address; of several at one address the one that is first in DWARF comes first.
static int compare_variables(const void *a, const void *b)
{
    const struct variable *one = a, *two = b;

    if (one->at != two->at)
        return one->at < two->at ? -1 : 1;
    return (one->die.addr > two->die.addr) - (one->die.addr < two->die.addr);
}

static uint64_t debug_info_size(Dwarf *dwarf)
{
    Elf *elf = dwarf_getelf(dwarf);
    Elf_Scn *section = NULL;
    size_t names;
    GElf_Shdr header;

    if (!elf || elf_getshdrstrndx(elf, &names) < 0)
        return UINT64_MAX;
    while ((section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && !strcmp(name, ".debug_info"))
            return header.sh_size;
    }
    return 0;
}

static void list_all_variables(struct rb_elf_module *m)
{
    Dwarf_CU *at = NULL;
    Dwarf_Die unit, split;
    uint8_t kind;

    m->listed = true;
    if (debug_info_size(m->dwarf) > CHEAP)
        return;
    while (dwarf_get_units(m->dwarf, at, &at, NULL, &kind, &unit, &split) == 0)
        list_variables(m, kind == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid ? &split : &unit, 0);
    if (m->variable_count)
        qsort(m->variables, m->variable_count, sizeof(*m->variables), compare_variables);
}

static Dwarf_Die *find_variable(struct rb_elf_module *m, Dwarf_Addr address)
{
    size_t low = 0, high = m->variable_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->variables[middle].at < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->variable_count && m->variables[low].at == address ? &m->variables[low].die : NULL;
}

static void set_definition(struct rb_elf_module *m, json_t *object, Dwarf_Addr address)
{
    Dwarf_Die *variable;
    Dwarf_Attribute file;
    int line;

    if (!m->dwarf)
        return;
    if (!m->listed)
        list_all_variables(m);
    variable = find_variable(m, address);
    if (!variable || dwarf_decl_line(variable, &line) != 0)
        return;
    set_attribute_file(object, dwarf_attr_integrate(variable, DW_AT_decl_file, &file));
    set_number(object, "line", line);
}

json_t *rb_elf_module_data(struct rb_elf_module *m, uint64_t address)
{
    json_t *object;
    GElf_Off into;
    GElf_Sym symbol;
    const char *name;
    int kind;

    if (m->state != RB_ELF_MODULE_READABLE)
        return NULL;
    name = dwfl_module_addrinfo(m->elf, address, &into, &symbol, NULL, NULL, NULL);
    kind = name ? GELF_ST_TYPE(symbol.st_info) : STT_FUNC;
    if ((kind != STT_OBJECT && kind != STT_COMMON && kind != STT_NOTYPE) || into >= symbol.st_size)
        return NULL;
    object = json_object();
    set_name(object, "name", name);
    json_object_set_new(object, "name_offset", json_integer((json_int_t)into));
    json_object_set_new(object, "size", json_integer((json_int_t)symbol.st_size));
    set_definition(m, object, address - into - m->shift);
    return object;
}
