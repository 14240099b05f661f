// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The decoder in process against Zydis, on every instruction of real libraries, and on bytes that are none. No byte beyond
// its bound is read: the page behind it cannot be.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "base/types.h"
#include "inproc/x86/x86_decode.h"

#define LEAST_COMPARED 100000u
#define MOST_SHOWN     20u

struct figures {
    unsigned long instructions, memory, sizes, locked, swaps, wrong;
};

static ZydisDecoder decoder;

// ---- the comparison ------------------------------------------------------------------------------------

static const ZydisDecodedOperand *find_memory(const ZydisDecodedInstruction *i,
                                              const ZydisDecodedOperand *operands)
{
    for (unsigned n = 0; n < i->operand_count_visible; n++)
        if (operands[n].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            operands[n].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            return &operands[n];
    return NULL;
}

static unsigned number_of(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_NONE)
        return RB_X86_NONE;
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return RB_X86_RIP;
    return (unsigned)ZydisRegisterGetId(reg);
}

static const char *compare_bytes(const struct rb_x86 *x, const ZydisDecodedInstruction *i)
{
    const unsigned immediates = (i->raw.imm[0].size + i->raw.imm[1].size) / 8;

    if (x->length != i->length)
        return "length";
    if (x->opcode != i->opcode && i->encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW)
        return "opcode";
    if (i->attributes & ZYDIS_ATTRIB_HAS_MODRM ? x->modrm_at != i->raw.modrm.offset : x->modrm_at != 0)
        return "place of ModRM";
    if (x->displacement_bytes != i->raw.disp.size / 8 ||
        (x->displacement_bytes && x->displacement_at != i->raw.disp.offset))
        return "place of the displacement";
    if (i->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
        return NULL;
    if (x->immediate_bytes != immediates || (immediates && x->immediate_at != i->raw.imm[0].offset))
        return "place of the immediate";
    return NULL;
}

static const char *compare_kind(const struct rb_x86 *x, const ZydisDecodedInstruction *i)
{
    const bool locked = i->attributes & ZYDIS_ATTRIB_HAS_LOCK;
    const bool swaps = i->mnemonic == ZYDIS_MNEMONIC_XCHG && x->flags & RB_X86_MEMORY;
    const bool ends_transaction = i->mnemonic == ZYDIS_MNEMONIC_XABORT || i->mnemonic == ZYDIS_MNEMONIC_XEND;
    const ZydisInstructionCategory c = ends_transaction ? ZYDIS_CATEGORY_INVALID : i->meta.category;

    if (!(x->flags & RB_X86_LOCK) == locked)
        return "lock";
    if (!(x->flags & RB_X86_ATOMIC) == (locked || swaps))
        return "atomic";
    if (!(x->flags & RB_X86_CALL) == (c == ZYDIS_CATEGORY_CALL) ||
        !(x->flags & RB_X86_JUMP) == (c == ZYDIS_CATEGORY_UNCOND_BR) ||
        !(x->flags & RB_X86_RETURN) == (c == ZYDIS_CATEGORY_RET && i->mnemonic != ZYDIS_MNEMONIC_SYSRET) ||
        !(x->flags & RB_X86_BRANCH) == (c == ZYDIS_CATEGORY_COND_BR || i->mnemonic == ZYDIS_MNEMONIC_XBEGIN))
        return "control flow";
    if (!(x->flags & RB_X86_RELATIVE) == (i->raw.imm[0].is_relative != 0))
        return "relative";
    if (x->flags & RB_X86_RELATIVE && x->immediate != i->raw.imm[0].value.s)
        return "distance";
    return NULL;
}

static const char *compare_address(const struct rb_x86 *x, const ZydisDecodedOperand *o)
{
    static const uint8_t log2_of[9] = {[2] = 1, [4] = 2, [8] = 3};
    const unsigned segment = o->mem.segment == ZYDIS_REGISTER_FS   ? RB_X86_FS
                             : o->mem.segment == ZYDIS_REGISTER_GS ? RB_X86_GS
                                                                   : RB_X86_FLAT;

    if (x->base != number_of(o->mem.base))
        return "base";
    if (o->mem.type != ZYDIS_MEMOP_TYPE_VSIB &&
        (x->index != number_of(o->mem.index) ||
         (x->index != RB_X86_NONE && x->scale != log2_of[o->mem.scale])))
        return "index";
    if (!(x->flags & RB_X86_SCALED) && x->displacement != o->mem.disp.value)
        return "displacement";
    if (x->segment != segment && o->mem.type == ZYDIS_MEMOP_TYPE_MEM)
        return "segment";
    return NULL;
}

static const char *compare_access(const struct rb_x86 *x, const ZydisDecodedInstruction *i,
                                  const ZydisDecodedOperand *o)
{
    const bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
               writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    const bool is_hint =
        i->meta.category == ZYDIS_CATEGORY_NOP || i->meta.category == ZYDIS_CATEGORY_WIDENOP ||
        i->meta.category == ZYDIS_CATEGORY_PREFETCH || i->meta.category == ZYDIS_CATEGORY_PREFETCHWT1 ||
        o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || i->meta.category == ZYDIS_CATEGORY_CLDEMOTE;

    if (!(x->flags & (RB_X86_READS | RB_X86_WRITES)))
        return is_hint ? NULL : "an access that was not seen";
    if (is_hint)
        return "an access that is none";
    if (!(x->flags & RB_X86_READS) == reads || !(x->flags & RB_X86_WRITES) == writes)
        return "direction";
    return x->size == o->size / 8 ? NULL : "size";
}

static const char *compare(const uint8_t *code, size_t bytes, const ZydisDecodedInstruction *i,
                           const ZydisDecodedOperand *operands, struct figures *f)
{
    const ZydisDecodedOperand *memory = find_memory(i, operands);
    struct rb_x86 x;
    const char *wrong;

    if (!rb_x86_decode(code, bytes, &x))
        return "no instruction";
    f->instructions++;
    wrong = compare_bytes(&x, i);
    if (!wrong)
        wrong = compare_kind(&x, i);
    if (!wrong && !(x.flags & RB_X86_MEMORY) != !memory)
        wrong = "memory or not";
    if (wrong || !memory)
        return wrong;
    f->memory++;
    f->locked += (x.flags & RB_X86_LOCK) != 0;
    f->swaps += (x.flags & RB_X86_ATOMIC) && !(x.flags & RB_X86_LOCK);
    wrong = compare_address(&x, memory);
    if (wrong || x.flags & (RB_X86_OPEN | RB_X86_SCALED))
        return wrong;
    f->sizes++;
    return compare_access(&x, i, memory);
}

static void say_wrong(const char *where, const uint8_t *code, const ZydisDecodedInstruction *i,
                      const char *wrong)
{
    printf("%s: %s: %s:", where, ZydisMnemonicGetString(i->mnemonic), wrong);
    for (unsigned n = 0; n < i->length; n++)
        printf(" %02x", code[n]);
    putchar('\n');
}

// Instructions of Knights Corner, which are invalid on all other processors.
static bool is_of_coprocessor(const ZydisDecodedInstruction *i)
{
    return i->meta.isa_set == ZYDIS_ISA_SET_KNCE || i->meta.isa_set == ZYDIS_ISA_SET_KNCV ||
           i->meta.isa_set == ZYDIS_ISA_SET_KNCJKBR || i->meta.isa_set == ZYDIS_ISA_SET_KNC_MISC ||
           i->meta.isa_set == ZYDIS_ISA_SET_KNCSTREAM || i->meta.isa_set == ZYDIS_ISA_SET_KNC_PF_HINT;
}

// Zydis makes a base of REX.B where SIB has none, with 32-bit addresses alone.
static bool is_misread(const ZydisDecodedInstruction *i)
{
    return i->address_width == 32 && i->attributes & ZYDIS_ATTRIB_HAS_SIB && i->raw.modrm.mod == 0 &&
           i->raw.sib.base == 5;
}

static void sweep(const char *where, const uint8_t *code, size_t bytes, struct figures *f)
{
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

    for (size_t at = 0; at < bytes; at += i.length) {
        i.length = 1; // of a byte that is no instruction
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, bytes - at, &i, operands)) ||
            is_of_coprocessor(&i) || is_misread(&i)) {
            i.length = 1;
            continue;
        }
        const char *wrong = compare(code + at, bytes - at, &i, operands, f);
        if (wrong && f->wrong++ < MOST_SHOWN)
            say_wrong(where, code + at, &i, wrong);
    }
}

// ---- libraries -----------------------------------------------------------------------------------------

static void sweep_text(const char *path, struct figures *f)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;

    assert_true(fd >= 0 && fstat(fd, &s) == 0);
    const uint8_t *file = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    close(fd);
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *section = (const void *)(file + head->e_shoff);
    const char *names = (const char *)file + section[head->e_shstrndx].sh_offset;
    for (unsigned n = 0; n < head->e_shnum; n++)
        if (!strcmp(names + section[n].sh_name, ".text"))
            sweep(path, file + section[n].sh_offset, section[n].sh_size, f);
    munmap((void *)(uintptr_t)file, (size_t)s.st_size);
}

static void libraries(void **state)
{
    static const char *const names[] = {"libc.so.6",        "libm.so.6",      "libstdc++.so.6",
                                        "libgomp.so.1",     "libtbb.so.12",   "libtbb.so.2",
                                        "libglib-2.0.so.0", "libcrypto.so.3", "libgcrypt.so.20",
                                        "libz.so.1"};
    struct figures all = {0};

    (void)state;
    for (unsigned n = 0; n < RB_LENGTH(names); n++) {
        void *handle = dlopen(names[n], RTLD_LAZY | RTLD_NODELETE);
        struct link_map *map;
        struct figures f = {0};
        if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
            continue;
        sweep_text(map->l_name, &f);
        printf(
            "%-16s %8lu instructions, %8lu with memory, %8lu of known size, %5lu lock, %4lu xchg, %lu wrong\n",
            names[n], f.instructions, f.memory, f.sizes, f.locked, f.swaps, f.wrong);
        all.instructions += f.instructions;
        all.wrong += f.wrong;
        dlclose(handle);
    }
    assert_true(all.instructions >= LEAST_COMPARED);
    assert_int_equal(all.wrong, 0);
}

// ---- other bytes ---------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 16;
}

static void fill(uint8_t *at, size_t bytes, uint64_t *random)
{
    static const uint8_t often[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x48, 0x0f,
                                    0xc4, 0xc5, 0x62, 0x8f, 0x64, 0x04};

    for (size_t i = 0; i < bytes; i++) {
        const uint64_t r = next_random(random);
        at[i] = r & 0x300 ? (uint8_t)r : often[r % sizeof(often)];
    }
}

// With each bound: the result is the one with more bytes, or none. The bytes end where the readable memory does.
static void bounds(void **state)
{
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t random = 1, whole = 0;

    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    for (unsigned turn = 0; turn < 300000; turn++) {
        uint8_t bytes[RB_X86_MOST_BYTES + 5];
        struct rb_x86 all, some;
        fill(bytes, sizeof(bytes), &random);
        const bool is_one = rb_x86_decode(bytes, sizeof(bytes), &all);
        assert_true(!is_one || (all.length && all.length <= RB_X86_MOST_BYTES));
        whole += is_one;
        for (size_t n = turn % 4 ? next_random(&random) % sizeof(bytes) : all.length; n <= sizeof(bytes);
             n += 7) {
            uint8_t *at = memcpy(pages + 4096 - n, bytes, n);
            const bool fits = rb_x86_decode(at, n, &some);
            assert_int_equal(fits, is_one && n >= all.length);
            if (fits)
                assert_memory_equal(&some, &all, sizeof(all));
        }
    }
    assert_true(whole > 100000);
    munmap(pages, 8192);
}

static void refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
    } rows[] = {
#define ROW(bytes) {bytes, sizeof(bytes) - 1}
        ROW(""),
        ROW("\x06"),                 // no instruction in 64-bit mode
        ROW("\xf0\x8b\x03"),         // lock mov
        ROW("\xf0\x01\xc3"),         // lock add %eax,%ebx
        ROW("\x66\xc5\xfb\x10\x03"), // a prefix before VEX
        ROW("\x48\x8b"),             // not whole
        ROW("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90"), // 16 bytes
    };
    struct rb_x86 x;

    (void)state;
    for (unsigned i = 0; i < RB_LENGTH(rows); i++)
        assert_false(rb_x86_decode((const uint8_t *)rows[i].bytes, rows[i].count, &x));
}

static void random_bytes(void **state)
{
    static uint8_t bytes[4 << 20];
    struct figures f = {0};
    uint64_t random = 2;

    (void)state;
    fill(bytes, sizeof(bytes), &random);
    sweep("random bytes", bytes, sizeof(bytes), &f);
    printf("%-16s %8lu instructions, %lu wrong\n", "random bytes", f.instructions, f.wrong);
    assert_int_equal(f.wrong, 0);
}

// What is needed to move an atomic operation to another place.
static void relocation(void **state)
{
    static const uint8_t code[] = {0xf0, 0x48, 0x81, 0x05, 0x10, 0,
                                   0,    0,    0x44, 0x33, 0x22, 0x11}; // lock addq $,16(%rip)
    struct rb_x86 x;

    (void)state;
    assert_true(rb_x86_decode(code, sizeof(code), &x));
    assert_int_equal(x.length, sizeof(code));
    assert_true(x.flags & RB_X86_LOCK && x.flags & RB_X86_ATOMIC && x.flags & RB_X86_MEMORY);
    assert_true(x.flags & RB_X86_READS && x.flags & RB_X86_WRITES && !(x.flags & RB_X86_PLAIN));
    assert_int_equal(x.base, RB_X86_RIP);
    assert_int_equal(x.index, RB_X86_NONE);
    assert_int_equal(x.opcode_at, 2);
    assert_int_equal(x.modrm_at, 3);
    assert_int_equal(x.displacement_at, 4);
    assert_int_equal(x.displacement_bytes, 4);
    assert_int_equal(x.displacement, 16);
    assert_int_equal(x.immediate_at, 8);
    assert_int_equal(x.immediate_bytes, 4);
    assert_int_equal(x.immediate, 0x11223344);
    assert_int_equal(x.size, 8);
    assert_true(rb_x86_decode((const uint8_t *)"\x65\x87\x0c\xd8", 4, &x)); // xchg %ecx,%gs:(%rax,%rbx,8)
    assert_true(x.flags & RB_X86_ATOMIC && !(x.flags & RB_X86_LOCK));
    assert_int_equal(x.segment, RB_X86_GS);
    assert_int_equal(x.base, 0);
    assert_int_equal(x.index, 3);
    assert_int_equal(x.scale, 3);
    assert_int_equal(x.reg, 1);
    assert_true(rb_x86_decode((const uint8_t *)"\x87\xc8", 2, &x)); // xchg of registers
    assert_false(x.flags & (RB_X86_ATOMIC | RB_X86_MEMORY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries), cmocka_unit_test(random_bytes), cmocka_unit_test(bounds),
        cmocka_unit_test(refused),   cmocka_unit_test(relocation),
    };

    setvbuf(stdout, NULL, _IONBF, 0);
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
