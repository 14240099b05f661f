// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hooks around asm statements (docs/explanation/inline-assembly.md). Before the statement the thread releases to each
// address that the statement may write, after it it acquires each that it may read. Let statement O1 come before O2 at
// an address: then release R1 < O1 < O2 < acquire A2 in real time, so A2 learns all that R1 released. Hooks on one side
// alone would miss that.
//
// A statement orders by its operands in memory, and by pointers in registers that its text follows or its "memory"
// clobber covers. The way is exact for a single move, else it is both. An address that cannot be told is
// that of one object of the runtime, the same for all such statements.
//
// A unit with a locked instruction builds atomics of its own, and volatile accesses are part of them: a lock taken by
// xchg is released by "*lock = 0". In such units they count as loads and stores of the statements' kind.
//
// This file is C++ because gcc's headers are; they need this order.
// clang-format off
#include "gcc-plugin.h"
#include "backend.h"
#include "tree.h"
#include "gimple.h"
#include "rtl.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cgraph.h"
#include "stringpool.h"
#include "attribs.h"
#include "fold-const.h"
#include "varasm.h"
#include "regs.h"
#include "function-abi.h"
#include "output.h"
#include "gimple-iterator.h"
#include "gimple-walk.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "asan.h"
#include "options.h"
// clang-format on
#include "asm_hooks.h"
#include "asm_text.h"

static const unsigned RELEASES = 1, ACQUIRES = 2, BOTH = 3;
static const unsigned MOST_BYTES = 64; // of an operand, as the runtime looks at no more

enum { RELEASE_HOOK, ACQUIRE_HOOK, FENCE_HOOK, HOOKS };
static tree hooks[HOOKS];

const ggc_root_tab asm_hooks_roots[] = {
    {hooks, HOOKS, sizeof(hooks[0]), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
    LAST_GGC_ROOT_TAB,
};

// Places in the source.
typedef hash_set<int_hash<location_t, 0, UINT_MAX>> place_set;
static place_set *hooked, *hooked_volatile;
static bool unit_locks; // it has a locked instruction

void asm_hooks_begin(void (*mark)(tree function, const char *name))
{
    static const char *const names[] = {"__railbird_asm_release", "__railbird_asm_acquire",
                                        "__railbird_asm_fence"};

    for (int i = 0; i < HOOKS; i++) {
        hooks[i] = build_fn_decl(names[i], build_function_type_list(void_type_node, ptr_type_node,
                                                                    size_type_node, NULL_TREE));
        TREE_NOTHROW(hooks[i]) = 1;
        DECL_ATTRIBUTES(hooks[i]) = tree_cons(get_identifier("leaf"), NULL_TREE, NULL_TREE);
        mark(hooks[i], names[i]);
    }
    hooked = new place_set;
    hooked_volatile = new place_set;
}

// ---- addresses -----------------------------------------------------------------------------------------

struct asm_address {
    tree pointer;
    unsigned HOST_WIDE_INT bytes;
    unsigned ways;
};

// A function that gets hooks.
struct asm_function {
    hash_set<tree> taken;     // variables with their address in a value
    auto_vec<tree> registers; // variables in registers that a call of a hook loses
};

struct asm_order {
    const asm_function *function;
    auto_vec<asm_address> addresses;
    bool unknown; // an address that cannot be told
    bool own;     // memory that no other thread reaches
};

static void add_address(asm_order *o, tree pointer, unsigned HOST_WIDE_INT bytes, unsigned ways)
{
    for (asm_address &a : o->addresses)
        if (operand_equal_p(a.pointer, pointer)) {
            a.ways |= ways;
            a.bytes = MAX(a.bytes, bytes);
            return;
        }
    const asm_address added = {pointer, bytes, ways};
    o->addresses.safe_push(added);
}

static unsigned HOST_WIDE_INT bytes_of(const_tree type)
{
    const_tree bytes = TYPE_SIZE_UNIT(type);

    if (!bytes || !tree_fits_uhwi_p(bytes) || !tree_to_uhwi(bytes))
        return 8;
    return MIN(tree_to_uhwi(bytes), MOST_BYTES);
}

// Returns true for a variable that no other thread can reach.
static bool is_own(const asm_order *o, tree base)
{
    return DECL_P(base) && !is_global_var(base) &&
           !const_cast<asm_function *>(o->function)->taken.contains(base);
}

// Adds an operand in memory. Others are in registers, or constants.
static void add_memory(asm_order *o, tree operand, unsigned ways)
{
    tree base = is_gimple_reg(operand) || CONSTANT_CLASS_P(operand) ? NULL_TREE : get_base_address(operand);

    if (!base || !(VAR_P(base) || TREE_CODE(base) == PARM_DECL || TREE_CODE(base) == RESULT_DECL ||
                   TREE_CODE(base) == MEM_REF || TREE_CODE(base) == TARGET_MEM_REF))
        return;
    if ((VAR_P(base) && DECL_HARD_REGISTER(base)) || (DECL_P(base) && TREE_READONLY(base)))
        return;
    if (!ADDR_SPACE_GENERIC_P(TYPE_ADDR_SPACE(TREE_TYPE(operand))))
        o->unknown = true;
    else if (is_own(o, base))
        o->own = true;
    else
        add_address(o, build_fold_addr_expr(unshare_expr(operand)), bytes_of(TREE_TYPE(operand)), ways);
}

static void add_pointer(asm_order *o, tree pointer, long offset)
{
    tree base = TREE_CODE(pointer) == ADDR_EXPR ? get_base_address(TREE_OPERAND(pointer, 0)) : NULL_TREE;
    const tree type = TREE_TYPE(pointer);

    if (base && (TREE_CODE(base) == STRING_CST || TREE_CODE(base) == FUNCTION_DECL))
        return;
    if (base && is_own(o, base)) {
        o->own = true;
        return;
    }
    const unsigned HOST_WIDE_INT bytes = POINTER_TYPE_P(type) && !offset ? bytes_of(TREE_TYPE(type)) : 8;
    pointer = fold_convert(ptr_type_node, pointer);
    add_address(o, offset ? fold_build_pointer_plus_hwi(pointer, offset) : pointer, bytes, BOTH);
}

// Returns the value that the register of an operand has at first, or NULL: an output may have none.
static tree value_of(const gasm *s, unsigned operand)
{
    const unsigned outputs = gimple_asm_noutputs(s), inputs = gimple_asm_ninputs(s);

    if (operand >= outputs)
        return operand - outputs < inputs ? TREE_VALUE(gimple_asm_input_op(s, operand - outputs)) : NULL_TREE;
    for (unsigned i = 0; i < inputs; i++) {
        const_tree input = gimple_asm_input_op(s, i);
        const char *constraint = TREE_STRING_POINTER(TREE_VALUE(TREE_PURPOSE(input)));
        if (ISDIGIT(*constraint) && strtoul(constraint, NULL, 10) == operand)
            return TREE_VALUE(input);
    }
    return NULL_TREE;
}

// Returns true if the value may be an address: a pointer, or as large as one.
static bool may_point(tree value)
{
    return value &&
           (is_gimple_reg(value) || TREE_CODE(value) == ADDR_EXPR ||
            (VAR_P(value) && DECL_HARD_REGISTER(value))) &&
           (POINTER_TYPE_P(TREE_TYPE(value)) ||
            (INTEGRAL_TYPE_P(TREE_TYPE(value)) && TYPE_PRECISION(TREE_TYPE(value)) == POINTER_SIZE));
}

// Adds the pointers that the text follows: "(%1)".
static void add_followed(asm_order *o, const gasm *s)
{
    asm_base base;

    for (const char *at = gimple_asm_string(s); (at = asm_text_next_base(at, &base));) {
        tree value = value_of(s, base.operand);
        if (may_point(value))
            add_pointer(o, value, base.exact ? base.offset : 0);
        o->unknown |= !may_point(value) || !base.exact;
    }
}

static bool clobbers_memory(const gasm *s)
{
    for (unsigned i = 0; i < gimple_asm_nclobbers(s); i++)
        if (!strcmp(TREE_STRING_POINTER(TREE_VALUE(gimple_asm_clobber_op(s, i))), "memory"))
            return true;
    return false;
}

static void find_addresses(asm_order *o, const gasm *s, const asm_text &text)
{
    const unsigned outputs = gimple_asm_noutputs(s), inputs = gimple_asm_ninputs(s);
    const bool locks = text.locked || text.exchanges, clobbers = clobbers_memory(s);
    const bool both = locks || (clobbers && !text.moves);

    for (unsigned i = 0; i < outputs; i++)
        add_memory(o, TREE_VALUE(gimple_asm_output_op(s, i)), both ? BOTH : RELEASES);
    for (unsigned i = 0; i < inputs; i++) {
        tree input = TREE_VALUE(gimple_asm_input_op(s, i));
        add_memory(o, input,
                   both || (clobbers && !outputs) ? BOTH : ACQUIRES); // some stores have inputs alone
        if (clobbers && POINTER_TYPE_P(TREE_TYPE(input)) && may_point(input))
            add_pointer(o, input, 0);
    }
    add_followed(o, s);
    o->unknown |= text.locked && o->addresses.is_empty() && !o->own && !text.on_stack;
    o->unknown |= text.exchanges && text.elsewhere && o->addresses.is_empty();
}

// ---- hooks ---------------------------------------------------------------------------------------------

static gcall *build_hook(const gimple *s, int hook, tree pointer, unsigned HOST_WIDE_INT bytes)
{
    gcall *call = gimple_build_call(hooks[hook], 2, pointer, build_int_cst(size_type_node, bytes));

    gimple_set_location(call, gimple_location(s));
    return call;
}

// Gives a variable in a register its value again. As an assignment it would go: calls do not change variables, for gcc.
static gasm *build_restore(tree variable, tree kept)
{
    vec<tree, va_gc> *outputs = NULL, *inputs = NULL;

    const char *kind =
        INTEGRAL_TYPE_P(TREE_TYPE(variable)) || POINTER_TYPE_P(TREE_TYPE(variable)) ? "=r" : "=v";
    vec_safe_push(outputs, build_tree_list(build_tree_list(NULL_TREE, build_string(2, kind)), variable));
    vec_safe_push(inputs, build_tree_list(build_tree_list(NULL_TREE, build_string(1, "0")), kept));
    gasm *restore = gimple_build_asm_vec("", inputs, outputs, NULL, NULL);
    gimple_asm_set_volatile(restore, true);
    return restore;
}

// Returns the calls with the variables in registers kept around them.
static gimple_seq keep_registers(const asm_function *f, gimple_seq calls)
{
    gimple_seq all = NULL, restore = NULL;

    if (!calls)
        return NULL;
    for (tree variable : f->registers) {
        tree kept = make_ssa_name(TYPE_MAIN_VARIANT(TREE_TYPE(variable)));
        gimple_seq_add_stmt(&all, gimple_build_assign(kept, variable));
        gimple_seq_add_stmt(&restore, build_restore(variable, kept));
    }
    gimple_seq_add_seq(&all, calls);
    gimple_seq_add_seq(&all, restore);
    return all;
}

static gimple_seq build_hooks(const gimple *s, const asm_order &o, unsigned way)
{
    gimple_seq calls = NULL;

    for (const asm_address &a : o.addresses)
        if (a.ways & way)
            gimple_seq_add_stmt(&calls, build_hook(s, way == RELEASES ? RELEASE_HOOK : ACQUIRE_HOOK,
                                                   a.pointer, a.bytes));
    return keep_registers(o.function, calls);
}

// Adds the hooks: those behind the statement on all ways out of it, if it jumps.
static void add_hooks(gimple_stmt_iterator *at, const gimple *s, asm_order *o)
{
    edge e;
    edge_iterator ei;

    for (asm_address &a : o->addresses) {
        gimple_seq computed = NULL;
        a.pointer = force_gimple_operand(fold_convert(ptr_type_node, a.pointer), &computed, true, NULL_TREE);
        gsi_insert_seq_before(at, computed, GSI_SAME_STMT);
    }
    gsi_insert_seq_before(at, build_hooks(s, *o, RELEASES), GSI_SAME_STMT);
    if (!stmt_ends_bb_p(gsi_stmt(*at))) {
        gsi_insert_seq_after(at, build_hooks(s, *o, ACQUIRES), GSI_SAME_STMT);
        return;
    }
    FOR_EACH_EDGE (e, ei, gsi_bb(*at)->succs)
        if (!(e->flags & EDGE_ABNORMAL))
            gsi_insert_seq_on_edge(e, build_hooks(s, *o, ACQUIRES));
}

// Returns true if the statement got hooks. A locked operation on memory of the thread's own is a fence.
static bool add_order(gimple_stmt_iterator *at, const gasm *s, const asm_function *f)
{
    asm_order order = {};
    asm_text text;

    order.function = f;
    asm_text_read(gimple_asm_string(s), &text);
    if (text.empty)
        return false;
    find_addresses(&order, s, text);
    const bool fence =
        text.fence || (order.addresses.is_empty() && !order.unknown &&
                       ((text.locked && text.on_stack) || ((text.locked || text.exchanges) && order.own)));
    if (fence) {
        gimple_seq call = NULL;
        gimple_seq_add_stmt(&call, build_hook(s, FENCE_HOOK, null_pointer_node, 0));
        gsi_insert_seq_before(at, keep_registers(f, call), GSI_SAME_STMT);
    }
    if (order.unknown)
        add_address(&order, null_pointer_node, 0, BOTH);
    add_hooks(at, s, &order);
    return fence || !order.addresses.is_empty();
}

static bool note_taken(gimple *, tree base, tree, void *taken)
{
    if (DECL_P(base))
        static_cast<hash_set<tree> *>(taken)->add(base);
    return false;
}

static void note_taken_operand(tree operand, hash_set<tree> *taken)
{
    if (TREE_CODE(operand) == ADDR_EXPR)
        note_taken(NULL, get_base_address(TREE_OPERAND(operand, 0)), NULL_TREE, taken);
}

// Finds the variables with their address in a value. The operands in memory of asm statements are none.
static void find_taken(function *fun, hash_set<tree> *taken)
{
    basic_block bb;

    FOR_EACH_BB_FN (bb, fun) {
        for (gphi_iterator i = gsi_start_phis(bb); !gsi_end_p(i); gsi_next(&i))
            walk_stmt_load_store_addr_ops(i.phi(), taken, NULL, NULL, note_taken);
        for (gimple_stmt_iterator i = gsi_start_nondebug_bb(bb); !gsi_end_p(i); gsi_next_nondebug(&i)) {
            const gasm *s = dyn_cast<gasm *>(gsi_stmt(i));
            if (!s && !is_hook(gsi_stmt(i)))
                walk_stmt_load_store_addr_ops(gsi_stmt(i), taken, NULL, NULL, note_taken);
            for (unsigned n = 0; s && n < gimple_asm_ninputs(s); n++)
                note_taken_operand(TREE_VALUE(gimple_asm_input_op(s, n)), taken);
        }
    }
}

// Returns true if the statement got a hook for a volatile access.
static bool add_volatile(gimple_stmt_iterator *at, const gimple *s, const asm_function *f)
{
    asm_order order = {};

    order.function = f;
    if (gimple_store_p(s) && TREE_THIS_VOLATILE(gimple_get_lhs(s)))
        add_memory(&order, gimple_get_lhs(s), RELEASES);
    if (gimple_assign_load_p(s) && TREE_THIS_VOLATILE(gimple_assign_rhs1(s)))
        add_memory(&order, gimple_assign_rhs1(s), ACQUIRES);
    add_hooks(at, s, &order);
    return !order.addresses.is_empty();
}

static bool is_candidate(const gimple *s)
{
    const gasm *assembly = dyn_cast<const gasm *>(s);

    if (assembly)
        return *gimple_asm_string(assembly);
    return unit_locks && gimple_has_volatile_ops(s) && !gimple_clobber_p(s);
}

// Collects the statements first: hooks are not among them.
static void find_statements(function *fun, vec<gimple *> *statements)
{
    basic_block bb;

    FOR_EACH_BB_FN (bb, fun)
        for (gimple_stmt_iterator i = gsi_start_nondebug_bb(bb); !gsi_end_p(i); gsi_next_nondebug(&i))
            if (is_candidate(gsi_stmt(i)))
                statements->safe_push(gsi_stmt(i));
}

// Finds the variables in registers that a call loses: all that calls may, as gcc knows better of hooks from -O2 on.
static void find_registers(function *fun, vec<tree> *registers)
{
    tree variable;
    unsigned i;

    FOR_EACH_LOCAL_DECL (fun, i, variable) {
        if (!VAR_P(variable) || !DECL_HARD_REGISTER(variable))
            continue;
        const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(variable));
        const int r = decode_reg_name(name + (*name == '*'));
        if (r >= 0 && (GENERAL_REGNO_P(r) || SSE_REGNO_P(r)) &&
            default_function_abi.clobbers_at_least_part_of_reg_p(r) && !fixed_regs[r])
            registers->safe_push(variable);
    }
}

// Functions without a frame (naked) cannot call.
void asm_hooks_add(function *fun)
{
    auto_vec<gimple *> statements;
    asm_function f;
    bool any = false;

    if (!sanitize_flags_p(SANITIZE_THREAD, fun->decl) ||
        lookup_attribute("naked", DECL_ATTRIBUTES(fun->decl)))
        return;
    find_statements(fun, &statements);
    if (statements.is_empty())
        return;
    find_taken(fun, &f.taken);
    find_registers(fun, &f.registers);
    for (gimple *s : statements) {
        gimple_stmt_iterator at = gsi_for_stmt(s);
        const gasm *assembly = dyn_cast<gasm *>(s);
        if (!(assembly ? add_order(&at, assembly, &f) : add_volatile(&at, s, &f)))
            continue;
        (assembly ? hooked : hooked_volatile)->add(LOCATION_LOCUS(gimple_location(s)) ?: 1);
        any = true;
    }
    if (!any)
        return;
    gsi_commit_edge_inserts();
    update_ssa(TODO_update_ssa_only_virtuals);
}

// ---- units with locked instructions --------------------------------------------------------------------

static tree find_locked(tree *at, int *, void *)
{
    asm_text text;

    if (TREE_CODE(*at) != ASM_EXPR)
        return NULL_TREE;
    asm_text_read(TREE_STRING_POINTER(ASM_STRING(*at)), &text);
    return text.locked || text.exchanges ? *at : NULL_TREE;
}

void asm_hooks_see(tree function)
{
    if (!unit_locks && DECL_SAVED_TREE(function) && sanitize_flags_p(SANITIZE_THREAD, function))
        unit_locks = walk_tree_without_duplicates(&DECL_SAVED_TREE(function), find_locked, NULL);
}

// ---- the note ------------------------------------------------------------------------------------------

// Returns true if nobody wants to read it. Configure scripts take any output of conftest.c for a failure in
// some of their tests.
static bool is_quiet(void)
{
    const char *notes = getenv("RAILBIRD_NOTES");

    return inhibit_warnings || (notes && !strcmp(notes, "none")) ||
           startswith(lbasename(main_input_filename), "conftest.");
}

void asm_hooks_finish(void)
{
    const unsigned n = hooked ? (unsigned)hooked->elements() : 0;
    const unsigned m = n ? (unsigned)hooked_volatile->elements() : 0;
    char more[64] = "";

    if (!n || is_quiet())
        return;
    if (m)
        snprintf(more, sizeof(more), " and %u volatile access%s", m, m == 1 ? "" : "es");
    fprintf(stderr, "railbird: %s: %u asm statement%s%s treated as atomics\n", main_input_filename, n,
            n == 1 ? "" : "s", more);
}
