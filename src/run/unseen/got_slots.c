// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words through which modules call unseen libraries, and the stubs that take their place: slots, and tables
// of virtual functions.
//
// A slot is a word in the module's global offset table. The linker makes it for calls alone (JUMP_SLOT), or
// for calls and for the function's address (GLOB_DAT). The address must not change, as the program may
// compare it. So a slot of the second kind is led to a stub only if every instruction of the module that
// mentions the slot is a call or a jump through it.
//
// A stub is code that loads the address of its record and goes on at rb_arch_unseen_enter. Blocks of stubs
// are written once, before they become executable; a stub is used again by a new record.
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "run/core/footprint.h"
#include "run/unseen/unseen.h"

#if !defined(RB_STATIC)
#define PAGE       4096u
#define STUB_BYTES 16u
#define STUBS      (PAGE / STUB_BYTES)

struct block {
    unsigned char code[PAGE];
    struct rb_unseen_stub record[STUBS];
    struct block *next;
};

static struct block *blocks;
static struct rb_unseen_stub *free_hint; // the last one taken

// ---- stubs ---------------------------------------------------------------------------------------------

static bool protect_pages(uintptr_t from, uintptr_t to, int protection)
{
    return syscall(SYS_mprotect, from, to - from, protection) == 0;
}

// Writes endbr64; lea record(%rip), %r11; jmp *8(%r11).
static void write_stub(unsigned char *code, const struct rb_unseen_stub *record)
{
    static const unsigned char form[STUB_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x1d, 0,
                                                   0,    0,    0,    0x41, 0xff, 0x63, 0x08, 0xcc};
    const int32_t distance = (int32_t)((const unsigned char *)record - (code + 11));

    __builtin_memcpy(code, form, sizeof(form));
    __builtin_memcpy(code + 7, &distance, sizeof(distance));
}

static bool add_block(void)
{
    const size_t bytes = (sizeof(struct block) + PAGE - 1) & ~(size_t)(PAGE - 1);
    struct block *b = rb_host.sandboxed ? NULL : rb_pages_map(bytes);

    if (!b)
        return false;
    for (unsigned i = 0; i < STUBS; i++) {
        b->record[i].enter = (uintptr_t)rb_arch_unseen_enter;
        write_stub(b->code + (size_t)i * STUB_BYTES, &b->record[i]);
    }
    if (!protect_pages((uintptr_t)b->code, (uintptr_t)b->code + PAGE, PROT_READ | PROT_EXEC)) {
        syscall(SYS_munmap, b, bytes);
        return false;
    }
    rb_footprint_map(b, bytes);
    b->next = blocks;
    blocks = b;
    free_hint = b->record;
    return true;
}

static struct block *block_of(const struct rb_unseen_stub *stub)
{
    struct block *b = blocks;

    while (stub < b->record || stub >= b->record + STUBS)
        b = b->next;
    return b;
}

static uint64_t code_of(const struct rb_unseen_stub *stub)
{
    struct block *b = block_of(stub);

    return (uint64_t)(uintptr_t)b->code + (uint64_t)(stub - b->record) * STUB_BYTES;
}

static bool is_stub(uint64_t address)
{
    for (const struct block *b = blocks; b; b = b->next)
        if (address - (uintptr_t)b->code < PAGE)
            return true;
    return false;
}

static struct rb_unseen_stub *find_free_in(struct block *b)
{
    for (unsigned i = 0; b && i < STUBS; i++)
        if (!b->record[i].used)
            return &b->record[i];
    return NULL;
}

static struct rb_unseen_stub *take_stub(void)
{
    struct block *const newest = blocks;
    struct rb_unseen_stub *found =
        newest && free_hint < newest->record + STUBS && !free_hint->used ? free_hint : NULL;

    for (struct block *b = newest; b && !found; b = b->next)
        found = find_free_in(b);
    if (!found && add_block())
        found = blocks->record;
    if (found)
        free_hint = found + (found + 1 < block_of(found)->record + STUBS);
    return found;
}

// ---- writing a slot ------------------------------------------------------------------------------------

// Returns true if the loader has made the slot's page read-only after relocation. It rounds as here.
static bool is_read_only(const struct rb_loaded *module, uintptr_t slot)
{
    bool writable = false;

    for (unsigned i = 0; i < module->headers; i++) {
        const ElfW(Phdr) *p = &module->header[i];
        const uintptr_t from = module->base + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_GNU_RELRO && slot >= (from & -(uintptr_t)PAGE) && slot < (to & -(uintptr_t)PAGE))
            return true;
        writable |= p->p_type == PT_LOAD && slot >= from && slot < to && p->p_flags & PF_W;
    }
    return !writable;
}

// The page made writable until the slots on it are written; 0: none.
struct writer {
    uintptr_t page;
};

static void close_page(struct writer *w)
{
    if (w->page)
        protect_pages(w->page, w->page + PAGE, PROT_READ);
    w->page = 0;
}

static bool open_page(struct writer *w, uintptr_t page)
{
    if (w->page == page)
        return true;
    close_page(w);
    if (rb_host.sandboxed || !protect_pages(page, page + PAGE, PROT_READ | PROT_WRITE))
        return false;
    w->page = page;
    return true;
}

// Writes the slot in one piece: other threads call through it meanwhile. Returns false if its page cannot
// be written.
static bool write_slot(struct writer *w, const struct rb_loaded *module, uint64_t *slot, uint64_t value)
{
    const uintptr_t at = (uintptr_t)slot;

    if (at % sizeof(*slot) || (is_read_only(module, at) && !open_page(w, at & -(uintptr_t)PAGE)))
        return false;
    rb_store_release(slot, value);
    return true;
}

// ---- redirection ---------------------------------------------------------------------------------------

struct redirecting {
    struct rb_self *me;
    const struct rb_loaded *module;
    struct writer writer;
    uint64_t left; // slots that could not be redirected
};

static bool is_inside(const struct rb_loaded *module, uint64_t address)
{
    for (unsigned i = 0; i < module->headers; i++) {
        const ElfW(Phdr) *p = &module->header[i];
        if (p->p_type == PT_LOAD && address - (module->base + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

// Leads the slot to a stub if its function is in an unseen library. `value`: what it holds.
static void redirect_slot(struct redirecting *r, uint64_t *slot, uint64_t value, uintptr_t target)
{
    const uint32_t library = target ? rb_unseen_find(target) : RB_UNSEEN_NONE;

    if (library == RB_UNSEEN_NONE || is_stub(value))
        return;
    struct rb_unseen_stub *stub = take_stub();
    if (!stub) {
        r->left++;
        return;
    }
    *stub = (struct rb_unseen_stub){.target = target,
                                    .enter = stub->enter,
                                    .library = library,
                                    .used = true,
                                    .slot = slot,
                                    .original = value,
                                    .module = (uintptr_t)r->module->section};
    if (write_slot(&r->writer, r->module, slot, code_of(stub))) {
        r->me->count.unseen_slots++;
    } else {
        stub->used = false;
        r->left++;
    }
}

// A slot that was not called yet leads back into its own module, to code that lets the loader find the
// function.
static void redirect_jump(struct redirecting *r, const ElfW(Rela) * reloc)
{
    uint64_t *slot = (void *)(r->module->base + reloc->r_offset);
    const uint64_t value = rb_load_acquire(slot);
    bool certain = true;

    if (ELF64_R_TYPE(reloc->r_info) != R_X86_64_JUMP_SLOT || is_stub(value))
        return;
    const uintptr_t target = is_inside(r->module, value)
                                 ? rb_symbol_target(r->module, (uint32_t)ELF64_R_SYM(reloc->r_info), &certain)
                                 : value;
    if (certain)
        redirect_slot(r, slot, value, target);
    else if (rb_unseen_find(target) != RB_UNSEEN_NONE)
        r->left++;
}

// ---- slots that are not for calls alone ----------------------------------------------------------------

// The slots in [from, to) and, in bits, those that an instruction uses for something else than a call.
struct mentions {
    uintptr_t from, to;
    uint64_t *other;
};

// Reads code, and marks the slots that something else than a call or a jump mentions. Each four bytes are
// taken for a displacement from the end of an instruction, which has up to four bytes behind it. So no
// mention is overlooked, though something else may be taken for one.
static void read_mentions(const struct mentions *s, const unsigned char *code, size_t bytes)
{
    for (size_t i = 2; i + 4 <= bytes; i++) {
        int32_t displacement;
        __builtin_memcpy(&displacement, code + i, sizeof(displacement));
        const uintptr_t led = (uintptr_t)(code + i + 4) + (uintptr_t)(intptr_t)displacement;
        if (RB_LIKELY(led + 4 - s->from >= s->to + 4 - s->from))
            continue;
        const uintptr_t slot = (led + 7) & ~(uintptr_t)7; // led to led + 4 may be meant
        const bool calls = led == slot && code[i - 2] == 0xff && (code[i - 1] == 0x15 || code[i - 1] == 0x25);
        const size_t n = (slot - s->from) / 8;
        if (!calls && slot - led <= 4 && slot < s->to)
            s->other[n / 64] |= (uint64_t)1 << n % 64;
    }
}

static uint64_t *slot_of(const struct redirecting *r, const ElfW(Rela) * reloc)
{
    return (void *)(r->module->base + reloc->r_offset);
}

// Returns true if the slot holds the address of an unseen library's function.
static bool has_address(const struct redirecting *r, const ElfW(Rela) * reloc)
{
    const uint32_t symbol = (uint32_t)ELF64_R_SYM(reloc->r_info);

    if (ELF64_R_TYPE(reloc->r_info) != R_X86_64_GLOB_DAT ||
        ELF64_ST_TYPE(r->module->symbols[symbol].st_info) == STT_OBJECT)
        return false;
    const uint64_t value = rb_load_acquire(slot_of(r, reloc));
    return !is_stub(value) && rb_unseen_find(value) != RB_UNSEEN_NONE;
}

// Returns the bounds of such slots; to 0: there is none.
static struct mentions find_addresses(const struct redirecting *r)
{
    struct mentions s = {UINTPTR_MAX, 0, NULL};

    for (size_t i = 0; i < r->module->rest_count; i++) {
        const uintptr_t slot = (uintptr_t)slot_of(r, &r->module->rest[i]);
        if (slot % 8 || !has_address(r, &r->module->rest[i]))
            continue;
        s.from = slot < s.from ? slot : s.from;
        s.to = slot + 8 > s.to ? slot + 8 : s.to;
    }
    return s;
}

static void redirect_addresses(struct redirecting *r)
{
    struct mentions s = find_addresses(r);
    const size_t bytes = s.to ? ((s.to - s.from) / 512 + 8) & ~(size_t)7 : 0;

    if (!s.to)
        return;
    // The code of a library without hooks is not read: it may be large, and its own calls matter less.
    s.other = rb_host.sandboxed || !r->module->hooks ? NULL : rb_pages_map(bytes * 8);
    for (unsigned i = 0; s.other && i < r->module->headers; i++) {
        const ElfW(Phdr) *p = &r->module->header[i];
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R)
            read_mentions(&s, (const unsigned char *)(r->module->base + p->p_vaddr), p->p_filesz);
    }
    for (size_t i = 0; i < r->module->rest_count; i++) {
        uint64_t *slot = slot_of(r, &r->module->rest[i]);
        const size_t n = ((uintptr_t)slot - s.from) / 8;
        if (!has_address(r, &r->module->rest[i]))
            continue;
        if (s.other && (uintptr_t)slot % 8 == 0 && !(s.other[n / 64] >> n % 64 & 1))
            redirect_slot(r, slot, *slot, *slot);
        else
            r->left++;
    }
    if (s.other)
        syscall(SYS_munmap, s.other, bytes * 8);
}

// ---- tables of virtual functions -----------------------------------------------------------------------
// By the C++ ABI for Itanium a table is an object _ZTV...: its words are distances, the address of a type, and
// functions for calls alone. Pointers to members hold distances in it. So its functions are led to stubs
// wherever it is known by name.

static bool is_table(const struct rb_loaded *module, const ElfW(Sym) * s)
{
    const char *name = s->st_name < module->name_bytes ? module->names + s->st_name : "";

    return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_value % 8 == 0 &&
           name[0] == '_' && name[1] == 'Z' && name[2] == 'T' && name[3] == 'V';
}

static bool is_code(uint64_t address)
{
    for (unsigned i = 0; i < rb_loaded_count; i++) {
        const struct rb_loaded *m = &rb_loaded[i];
        for (unsigned k = 0; address >= m->from && address < m->to && k < m->headers; k++) {
            const ElfW(Phdr) *p = &m->header[k];
            if (p->p_type == PT_LOAD && p->p_flags & PF_X && address - (m->base + p->p_vaddr) < p->p_memsz)
                return true;
        }
    }
    return false;
}

static void redirect_tables(struct redirecting *r)
{
    const uint32_t count = rb_symbol_count(r->module);

    for (uint32_t i = 1; i < count; i++) {
        const ElfW(Sym) *s = &r->module->symbols[i];
        uint64_t *word = (void *)(r->module->base + s->st_value), *end = word + s->st_size / 8;
        for (; is_table(r->module, s) && word < end; word++) {
            const uint64_t value = rb_load_acquire(word);
            if (rb_unseen_find(value) != RB_UNSEEN_NONE && !is_stub(value) && is_code(value))
                redirect_slot(r, word, value, value);
        }
    }
}

uint64_t rb_slots_redirect(struct rb_self *me, const struct rb_loaded *module)
{
    struct redirecting r = {.me = me, .module = module};

    if (!module->symbols || !module->names)
        return 0;
    redirect_tables(&r);
    for (size_t i = 0; i < module->jump_count; i++)
        redirect_jump(&r, &module->jumps[i]);
    redirect_addresses(&r);
    close_page(&r.writer);
    return r.left;
}

// ---- the end of a module -------------------------------------------------------------------------------

// Gives the stub's slot back to the loader, and frees the stub.
static void give_back(struct writer *w, struct rb_unseen_stub *stub)
{
    const struct rb_loaded *module = rb_module_loaded(stub->module);

    if (module && rb_load_acquire(stub->slot) == code_of(stub))
        write_slot(w, module, stub->slot, stub->original);
    stub->used = false;
}

// Returns true if the library is loaded, and the slot's module. *module: the one looked up last, of which
// many stubs follow each other.
static bool is_needed(const struct rb_unseen_stub *stub, const struct rb_loaded **module)
{
    const struct rb_unseen_library *l = &rb_unseen_library[stub->library];

    if (!*module || (uintptr_t)(*module)->section != stub->module)
        *module = rb_module_loaded(stub->module);
    return *module && stub->target >= l->from && stub->target < l->to;
}

void rb_slots_sweep(bool all)
{
    const struct rb_loaded *module = NULL;
    struct writer w = {0};

    for (struct block *b = blocks; b; b = b->next)
        for (unsigned i = 0; i < STUBS; i++)
            if (b->record[i].used && (all || !is_needed(&b->record[i], &module)))
                give_back(&w, &b->record[i]);
    close_page(&w);
}
#endif
