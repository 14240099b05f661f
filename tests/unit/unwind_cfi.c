// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpreter of call frame information: against readelf's reading of the same bytes, and with broken
// bytes at the edge of memory that is not there.
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "inproc/cfi.h"
#include "inproc/unwind.h"
#include "unwind_cfi.h"

struct object objects[MOST_OBJECTS];
unsigned object_count;

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object *o = &objects[object_count];
    uintptr_t header = 0;

    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (!header || object_count == MOST_OBJECTS)
        return 0;
    o->bias = info->dlpi_addr;
    o->header = (const uint8_t *)header;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && header - begin < info->dlpi_phdr[i].p_filesz) {
            o->segment = (const uint8_t *)begin;
            o->segment_end = o->segment + info->dlpi_phdr[i].p_filesz;
        }
    }
    static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b};
    if (!o->segment || memcmp(o->header, usual, 4) != 0)
        return 0;
    memcpy(&o->count, o->header + 8, 4);
    if (info->dlpi_name[0])
        snprintf(o->path, sizeof(o->path), "%s", info->dlpi_name);
    else if (readlink("/proc/self/exe", o->path, sizeof(o->path) - 1) < 0)
        return 0;
    object_count += o->count > 4;
    return 0;
}

void find_objects(void)
{
    if (object_count == 0)
        dl_iterate_phdr(note_object, NULL);
    assert_true(object_count >= 2);
}

static struct entry entry_of(const struct object *o, uint32_t i)
{
    struct entry e = {.object = o};
    int32_t at, begin;
    uint32_t size;

    memcpy(&at, o->header + 12 + 8 * (size_t)i + 4, 4);
    e.at = o->header + at;
    memcpy(&begin, e.at + 8, 4); // encoded pcrel | sdata4, as everywhere on x86-64
    memcpy(&size, e.at + 12, 4);
    e.begin = (uintptr_t)(e.at + 8) + (uintptr_t)(intptr_t)begin;
    e.size = size;
    return e;
}

struct entry random_entry(struct rb_rng *rng)
{
    const struct object *o = &objects[rb_rng_below(rng, object_count)];

    return entry_of(o, (uint32_t)rb_rng_below(rng, o->count));
}

// ---- against readelf -----------------------------------------------------------------------------------

// readelf's words for one row, as the rule that we should have come to. False: no rule can be told from them.
static bool expected_rule(const char *cfa, const char *bp, const char *ra, struct rb_rule *rule)
{
    char reg[8];
    int offset;

    *rule = (struct rb_rule){.kind = RB_RULE_STOP};
    if (strcmp(ra, "u") == 0) {
        rule->kind = RB_RULE_OUTERMOST;
        return true;
    }
    if (strcmp(cfa, "exp") == 0 || strcmp(bp, "exp") == 0)
        return false;
    if (sscanf(cfa, "%7[a-z0-9]%d", reg, &offset) != 2)
        return false;
    if (strcmp(ra, "c-8") != 0 || (strcmp(reg, "rsp") != 0 && strcmp(reg, "rbp") != 0))
        return true;
    rule->kind = RB_RULE_CFA;
    rule->from_bp = strcmp(reg, "rbp") == 0;
    rule->cfa_at = offset;
    if (bp[0] == 'c' && sscanf(bp + 1, "%d", &offset) == 1) {
        rule->bp = RB_RULE_BP_AT_CFA;
        rule->bp_at = offset;
    } else if (strcmp(bp, "u") != 0 && strcmp(bp, "s") != 0 && bp[0] != 0) {
        rule->bp = RB_RULE_BP_LOST;
    }
    return true;
}

// The words of a row under the columns' names. Columns are rows' words in order; CFA is the second.
static const char *column(char *words[], char *names[], unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return words[i];
    return "";
}

static unsigned split(char *line, char *words[], unsigned most)
{
    unsigned count = 0;

    for (char *w = strtok(line, " \n"); w && count < most; w = strtok(NULL, " \n"))
        words[count++] = w;
    return count;
}

struct reading {
    unsigned rows, compared, different;
};

static void read_frames(FILE *in, const struct object *o, struct reading *r)
{
    static char line[1024], names_line[1024];
    char *words[40], *names[40];
    unsigned columns = 0;

    while (fgets(line, sizeof(line), in)) {
        if (strstr(line, " LOC ") && strstr(line, " CFA ")) {
            memcpy(names_line, line, sizeof(line));
            columns = split(names_line, names, 40);
            continue;
        }
        if (strstr(line, " FDE ") || strstr(line, " CIE ")) {
            if (strstr(line, " CIE "))
                columns = 0;
            else if (!strstr(line, "cie="))
                columns = 0;
            continue;
        }
        const unsigned count = split(line, words, 40);
        if (columns < 3 || count != columns || strlen(words[0]) != 16)
            continue;
        struct rb_rule expected;
        r->rows++;
        const uintptr_t pc = strtoull(words[0], NULL, 16) + o->bias;
        if (pc == o->bias || !expected_rule(words[1], column(words, names, count, "rbp"),
                                            column(words, names, count, "ra"), &expected))
            continue;
        r->compared++;
        if (rb_unwind_rule(pc + 1) != rb_rule_pack(&expected)) {
            if (r->different++ < 5)
                print_message("%s: %#lx: rule %#lx, readelf says %s %s\n", o->path,
                              (unsigned long)(pc - o->bias), (unsigned long)rb_unwind_rule(pc + 1), words[1],
                              column(words, names, count, "rbp"));
        }
    }
}

void cfi_as_readelf_says(void **state)
{
    struct reading r = {0};

    (void)state;
    if (system("readelf --version >/dev/null 2>&1") != 0)
        skip();
    find_objects();
    for (unsigned i = 0; i < object_count; i++) {
        char command[600];
        if (!strchr(objects[i].path, '/') || access(objects[i].path, R_OK) != 0)
            continue; // the vDSO
        snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp '%s' 2>/dev/null",
                 objects[i].path);
        FILE *in = popen(command, "r");
        assert_non_null(in);
        read_frames(in, &objects[i], &r);
        pclose(in);
    }
    print_message("%u rows, %u compared\n", r.rows, r.compared);
    assert_true(r.compared > 5000);
    assert_true(r.compared > r.rows - r.rows / 20);
    assert_int_equal(r.different, 0);
}

// ---- broken bytes --------------------------------------------------------------------------------------

// Memory that ends where the next page is not there, and begins where the one before is not.
#define ROOM (16 * 4096)
static uint8_t *edge(void)
{
    static uint8_t *memory;

    if (!memory) {
        memory = mmap(NULL, ROOM + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(memory, MAP_FAILED);
        memory += 4096;
        assert_int_equal(mprotect(memory, ROOM, PROT_READ | PROT_WRITE), 0);
    }
    return memory;
}

static void mutate(struct rb_rng *rng, uint8_t *bytes, size_t size)
{
    static const uint8_t spicy[] = {0x00, 0x01, 0x0a, 0x0b, 0x0f, 0x10, 0x16, 0x50, 0x7f, 0x80, 0x9b, 0xff};
    const uint64_t times = 1 + rb_rng_below(rng, 4);

    for (uint64_t i = 0; i < times; i++) {
        const size_t at = (size_t)rb_rng_below(rng, size);
        switch (rb_rng_below(rng, 3)) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << rb_rng_below(rng, 8));
            break;
        case 1:
            bytes[at] = spicy[rb_rng_below(rng, sizeof(spicy))];
            break;
        default:
            bytes[at] = (uint8_t)rb_rng_next(rng);
        }
    }
}

static size_t entry_size(const uint8_t *at)
{
    uint32_t length;

    memcpy(&length, at, 4);
    return length + 4;
}

static void check_rule(uint64_t rule)
{
    assert_true(rb_rule_kind(rule) > RB_RULE_NOWHERE && rb_rule_kind(rule) < RB_RULE_KINDS);
}

// Entries with their common part put before them, some bytes changed, sometimes cut off, pushed against
// either edge.
void cfi_fuzz_entries(void **state)
{
    unsigned same = 0, kinds[RB_RULE_KINDS] = {0};
    struct rb_rng rng;

    (void)state;
    find_objects();
    rb_rng_seed(&rng, 11);
    for (unsigned round = 0; round < 150000; round++) {
        const struct entry e = random_entry(&rng);
        uint32_t back;
        memcpy(&back, e.at + 4, 4);
        const uint8_t *common = e.at + 4 - back;
        const size_t common_size = entry_size(common), size = entry_size(e.at);
        if (common_size + size > ROOM / 2)
            continue;
        uint8_t *memory = edge(), *to = round % 2 ? memory : memory + ROOM - common_size - size;
        memcpy(to, common, common_size);
        memcpy(to + common_size, e.at, size);
        back = (uint32_t)common_size + 4;
        memcpy(to + common_size + 4, &back, 4);
        const uintptr_t pc =
            (uintptr_t)(to + common_size) + (e.begin - (uintptr_t)e.at) + rb_rng_below(&rng, e.size);
        struct rb_cfi_bytes bytes = {to, to + common_size + size};
        const uint64_t untouched = rb_cfi_rule(bytes, (uintptr_t)to + common_size, pc);
        check_rule(untouched);
        kinds[rb_rule_kind(untouched)]++;
        mutate(&rng, to, common_size + size);
        if (round % 5 == 0 && round % 2 == 0) { // cut: the rest is not there
            const size_t cut = (size_t)rb_rng_below(&rng, size);
            memmove(to + cut, to, common_size + size - cut);
            bytes.lo += cut;
        }
        const uint64_t touched = rb_cfi_rule(bytes, (uintptr_t)bytes.lo + common_size, pc);
        check_rule(touched);
        check_rule(rb_cfi_scan(bytes, (uintptr_t)bytes.lo, pc));
        same += touched == untouched;
    }
    // The mutations did reach what matters, and the originals were understood.
    assert_in_range(same, 10000, 140000);
    assert_true(kinds[RB_RULE_CFA] > 130000);
}

void cfi_fuzz_headers(void **state)
{
    unsigned found[3] = {0};
    struct rb_rng rng;

    (void)state;
    find_objects();
    rb_rng_seed(&rng, 12);
    for (unsigned round = 0; round < 100000; round++) {
        const struct object *o = &objects[rb_rng_below(&rng, object_count)];
        const uint32_t count = (uint32_t)rb_rng_below(&rng, o->count < 50 ? o->count : 50);
        const size_t size = 12 + 8 * (size_t)count;
        uint8_t *to = edge() + ROOM - size;
        memcpy(to, o->header, size);
        memcpy(to + 8, &count, 4);
        mutate(&rng, to, round % 2 ? size : 12);
        const size_t cut = round % 5 ? 0 : (size_t)rb_rng_below(&rng, size);
        memmove(to + cut, to, size - cut);
        const struct rb_cfi_bytes bytes = {to + cut, to + size};
        uintptr_t address;
        found[rb_cfi_search(bytes, (uintptr_t)to - (uintptr_t)o->header + entry_of(o, 0).begin + 100,
                            &address)]++;
    }
    assert_true(found[RB_CFI_NONE] > 100 && found[RB_CFI_ENTRY] > 100 && found[RB_CFI_SCAN] > 100);
}

// ---- made by hand --------------------------------------------------------------------------------------

// The rule for the second byte of 256 bytes of code, given a program. The low digit of its address can be
// chosen.
static unsigned low_digit;

static uint64_t rule_of_program(const uint8_t *program, size_t size, const char *augmentation)
{
    static const uint8_t data[] = {0x1b};
    static uint8_t bytes[256];
    uint8_t *p = bytes + 8;
    uint32_t length;

    memset(bytes, 0, sizeof(bytes));
    *p++ = 1; // version
    p = (uint8_t *)stpcpy((char *)p, augmentation) + 1;
    *p++ = 1;
    *p++ = 0x78; // -8
    *p++ = 16;
    *p++ = sizeof(data);
    memcpy(p, data, sizeof(data));
    p += sizeof(data);
    memcpy(p, (const uint8_t[]){0x0c, 7, 8, 0x90, 1}, 5); // CFA is rsp + 8, return address at CFA - 8
    p += 5;
    length = (uint32_t)(p - bytes - 4);
    memcpy(bytes, &length, 4);
    uint8_t *entry = p;
    const uint32_t back = (uint32_t)(entry + 4 - bytes), range = 256;
    const int32_t begin = 0x1000 + (int32_t)((low_digit - 1 - (uintptr_t)(entry + 8)) & 15);
    memcpy(entry + 4, &back, 4);
    memcpy(entry + 8, &begin, 4);
    memcpy(entry + 12, &range, 4);
    entry[16] = 0;
    memcpy(entry + 17, program, size);
    length = (uint32_t)(13 + size);
    memcpy(entry, &length, 4);
    const struct rb_cfi_bytes all = {bytes, entry + 17 + size};
    return rb_cfi_rule(all, (uintptr_t)entry, (uintptr_t)(entry + 8) + (uintptr_t)begin + 1);
}

#define RULE_OF(augmentation, ...) \
    rule_of_program((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), augmentation)
#define RULE(...) rb_rule_pack(&(const struct rb_rule){.kind = __VA_ARGS__})

void cfi_expressions(void **state)
{
    (void)state;
    // nothing; then a row that begins at, and one that begins after, the pc
    assert_int_equal(RULE_OF("zR", 0), RULE(RB_RULE_CFA, .cfa_at = 8));
    assert_int_equal(RULE_OF("zR", 0x41, 0x0e, 16, 0x86, 2),
                     RULE(RB_RULE_CFA, .cfa_at = 16, .bp = RB_RULE_BP_AT_CFA, .bp_at = -16));
    assert_int_equal(RULE_OF("zR", 0x42, 0x0e, 16, 0x86, 2), RULE(RB_RULE_CFA, .cfa_at = 8));
    // rbp saved, then as at the start; remembered and recalled, CFA and all
    assert_int_equal(RULE_OF("zR", 0x86, 2, 0xc6), RULE(RB_RULE_CFA, .cfa_at = 8));
    assert_int_equal(RULE_OF("zR", 0x0a, 0x0c, 6, 32, 0x86, 4, 0x0b), RULE(RB_RULE_CFA, .cfa_at = 8));
    // in another register, by value, undefined
    assert_int_equal(RULE_OF("zR", 0x09, 6, 3), RULE(RB_RULE_CFA, .cfa_at = 8, .bp = RB_RULE_BP_LOST));
    assert_int_equal(RULE_OF("zR", 0x14, 6, 3), RULE(RB_RULE_CFA, .cfa_at = 8, .bp = RB_RULE_BP_LOST));
    assert_int_equal(RULE_OF("zR", 0x07, 6), RULE(RB_RULE_CFA, .cfa_at = 8, .bp = RB_RULE_BP_LOST));
    assert_int_equal(RULE_OF("zR", 0x07, 16), RULE(RB_RULE_OUTERMOST));
    // realigned: CFA is *(rbp - 8), rbp saved at rbp + 0
    assert_int_equal(RULE_OF("zR", 0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06),
                     RULE(RB_RULE_DEREF, .from_bp = true, .cfa_at = -8, .bp = RB_RULE_BP_AT_BP));
    // *(rsp + 40) + 8
    assert_int_equal(RULE_OF("zR", 0x0f, 5, 0x77, 40, 0x06, 0x23, 8),
                     RULE(RB_RULE_DEREF, .cfa_at = 40, .add = 8));
    // twice loaded; another register; a loop
    assert_int_equal(RULE_OF("zR", 0x0f, 4, 0x77, 40, 0x06, 0x06), RULE(RB_RULE_STOP));
    assert_int_equal(RULE_OF("zR", 0x0c, 10, 0), RULE(RB_RULE_STOP));
    assert_int_equal(RULE_OF("zR", 0x0f, 5, 0x77, 8, 0x2f, 0xfb, 0xff), RULE(RB_RULE_STOP));
    // r10 for a moment, then rbp
    assert_int_equal(RULE_OF("zR", 0x0c, 10, 0, 0x0d, 6), RULE(RB_RULE_CFA, .from_bp = true));
    // a signal's return: rsp, rip and rbp from a ucontext; without the mark it is none
    assert_int_equal(RULE_OF("zRS", 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 6, 3,
                             0x77, 0xf8, 0),
                     RULE(RB_RULE_SIGNAL, .cfa_at = 160));
    assert_int_equal(RULE_OF("zR", 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 6, 3, 0x77,
                             0xf8, 0),
                     RULE(RB_RULE_STOP));
    assert_int_equal(RULE_OF("zRS", 0), RULE(RB_RULE_STOP));
    // an unknown augmentation, an unknown instruction
    assert_int_equal(RULE_OF("zRX", 0), RULE(RB_RULE_STOP));
    assert_int_equal(RULE_OF("zR", 0x3f), RULE(RB_RULE_STOP));
    // recalled more often than remembered
    assert_int_equal(RULE_OF("zR", 0x0a, 0x0b, 0x0b), RULE(RB_RULE_STOP));
    // the expression of procedure linkage tables: 8 more once something has been pushed
    for (low_digit = 0; low_digit < 16; low_digit++)
        assert_int_equal(RULE_OF("zR", 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
                         RULE(RB_RULE_CFA, .cfa_at = low_digit >= 11 ? 16 : 8));
    low_digit = 0;
}

void cfi_scan_finds_the_same(void **state)
{
    struct rb_rng rng;

    (void)state;
    find_objects();
    rb_rng_seed(&rng, 13);
    for (unsigned round = 0; round < 200; round++) {
        const struct entry e = random_entry(&rng);
        const uintptr_t pc = e.begin + rb_rng_below(&rng, e.size ? e.size : 1);
        const struct rb_cfi_bytes bytes = {e.object->segment, e.object->segment_end};
        struct rb_cfi_bytes header = {e.object->header, e.object->segment_end};
        uint8_t without_table[8];
        uintptr_t address, entries;
        assert_int_equal(rb_cfi_search(header, pc, &address), RB_CFI_ENTRY);
        // The same header, but for the count: its pointer is relative to where it is, so the difference is
        // added.
        memcpy(without_table, e.object->header, 8);
        without_table[2] = 0xff;
        header = (struct rb_cfi_bytes){without_table, without_table + 8};
        assert_int_equal(rb_cfi_search(header, pc, &entries), RB_CFI_SCAN);
        entries += (uintptr_t)e.object->header - (uintptr_t)without_table;
        assert_int_equal(rb_cfi_scan(bytes, entries, pc), rb_cfi_rule(bytes, address, pc));
    }
}

void rule_round_trip(void **state)
{
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 14);
    for (unsigned round = 0; round < 100000; round++) {
        const struct rb_rule r = {
            .kind = (enum rb_rule_kind)rb_rng_below(&rng, RB_RULE_KINDS),
            .from_bp = rb_rng_below(&rng, 2),
            .bp = (enum rb_rule_bp)rb_rng_below(&rng, RB_RULE_BPS),
            .add = (int32_t)rb_rng_below(&rng, RB_RULE_MOST_ADD / 8 + 1) * 8,
            .bp_at = ((int32_t)rb_rng_below(&rng, 2 * RB_RULE_MOST_BP_AT / 8 + 1) -
                      (int32_t)RB_RULE_MOST_BP_AT / 8) *
                     8,
            .cfa_at = (int32_t)(uint32_t)rb_rng_next(&rng),
        };
        const uint64_t word = rb_rule_pack(&r);
        assert_int_equal(rb_rule_kind(word), r.kind);
        assert_int_equal(rb_rule_from_bp(word), r.from_bp);
        assert_int_equal(rb_rule_bp(word), r.bp);
        assert_int_equal(rb_rule_add(word), r.add);
        assert_true((int64_t)rb_rule_bp_at(word) == r.bp_at);
        assert_true((int64_t)rb_rule_cfa_at(word) == r.cfa_at);
    }
}
