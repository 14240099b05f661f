// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plugin for gcc. It gives each function two copies of its body, one with the hooks of -fsanitize=thread
// (the instrumented copy) and one without (the plain copy), and hooks that preserve registers.
// docs/explanation/copies.md has the design; `railbird cc` passes the plugin to a gcc that it was built for.
//
//     entry:  if (gate) { hooks, and everything as gcc made it } else { the same without hooks }
//
// The gate is a byte of the function's own, 1 at first, in the section rb_gates. The instrumented copy
// reports each pass to the runtime (__railbird_gate), and the runtime writes the byte when it has seen
// enough.
//
//   - Loops that call a function or have loops inside choose again at their heads. So a thread that never
//     leaves a function changes copies too.
//   - Innermost loops that call nothing are left whole, for the vectorizer. In the instrumented copy, those
//     in no other loop have gates that lead out of the hooks; in the plain copy they have none.
//   - Code after a call that waits chooses, too, by a gate of its own. A thread that wakes up often begins
//     the work it waited for, and the gates it has passed are as old as its sleep.
//
// Races hide in code that runs rarely, and much of it is in functions that run often. So in the plain copy
// each branch that leads to accesses begins with a probe, `call __railbird_probe; jc`. It leads to the same
// place in the instrumented copy until the runtime has seen that branch often enough, too. Then the runtime
// writes one byte: `test $imm32,%eax; jc` goes nowhere.
//
// Invariants:
// * Synchronisation is in both copies: hooks of atomics and of asm statements (asm_hooks.cc) are never
//   removed. The plain copy leaves out accesses only, and an access that is not seen hides a race and invents none.
// * Code with hooks in the instrumented copy is, in the plain copy, behind a probe of its own; or it runs
//   whenever and as often as code behind a probe or a gate.
// * A hook is called by a name of ours (__railbird_read8, not __tsan_read8). It preserves all general
//   registers but r10 and r11, which a stub of the linker may use, and the lower halves of xmm0 to xmm15;
//   gcc relies on it. TSan's own hooks do not, so such objects must not be linked with them.
//
// This file is C++ because gcc's headers are; they need this order.
// clang-format off
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "backend.h"
#include "tree.h"
#include "gimple.h"
#include "rtl.h"
#include "tree-pass.h"
#include "context.h"
#include "ssa.h"
#include "cgraph.h"
#include "stringpool.h"
#include "attribs.h"
#include "fold-const.h"
#include "varasm.h"
#include "predict.h"
#include "dominance.h"
#include "cfgloop.h"
#include "cfghooks.h"
#include "gimple-iterator.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "gimplify.h"
#include "target.h"
#include "regs.h"
#include "function-abi.h"
// clang-format on
#include "asm_hooks.h"

int plugin_is_GPL_compatible; // gcc requires this name; only gcc loads the plugin

static const unsigned FEW_HOOKS = 4; // with fewer a plain copy costs as much as it saves
static const int FEW_ROUNDS = 64;    // a loop that cannot go round more often ends soon

// ---- hooks: their names and preserved registers --------------------------------------------------------

static const char hook_mark[] = "railbird hook";
static const unsigned HOOK_ABI = 3; // of gcc's eight numbers for calling conventions x86 uses 0 and 1
static predefined_function_abi hook_abi;
static const predefined_function_abi &(*next_fntype_abi)(const_tree);
static bool (*next_part_clobbered)(unsigned, unsigned, machine_mode);
static bool (*next_sibcall_ok)(tree, tree);

static bool is_marked(const_tree type)
{
    return lookup_attribute(hook_mark, TYPE_ATTRIBUTES(type)) != NULL_TREE;
}

static const predefined_function_abi &fntype_abi_with_hooks(const_tree type)
{
    if (!is_marked(type))
        return next_fntype_abi ? next_fntype_abi(type) : default_function_abi;
    if (!hook_abi.initialized_p()) {
        HARD_REG_SET lost = default_function_abi.full_reg_clobbers();
        for (unsigned r = 0; r < FIRST_PSEUDO_REGISTER; r++)
            if ((GENERAL_REGNO_P(r) && r != R10_REG && r != R11_REG) || LEGACY_SSE_REGNO_P(r) ||
                REX_SSE_REGNO_P(r))
                CLEAR_HARD_REG_BIT(lost, r);
        hook_abi.initialize(HOOK_ABI, lost);
    }
    return hook_abi;
}

// Returns true for the upper halves of vector registers: the lower half is preserved.
static bool part_clobbered_with_hooks(unsigned abi, unsigned r, machine_mode mode)
{
    if (abi != HOOK_ABI)
        return next_part_clobbered(abi, r, mode);
    return SSE_REGNO_P(r) && maybe_gt(GET_MODE_SIZE(mode), 16);
}

// Returns false for a call of a hook: a hook that is reached by a jump cannot be told from its caller's
// caller, and never sleeps.
static bool sibcall_ok_without_hooks(tree function, tree call)
{
    return !(function && is_marked(TREE_TYPE(function))) && next_sibcall_ok(function, call);
}

static tree type_with(tree type, const char *attribute, tree value)
{
    type = build_distinct_type_copy(type);
    TYPE_ATTRIBUTES(type) = tree_cons(get_identifier(attribute), value, TYPE_ATTRIBUTES(type));
    return type;
}

static void mark_hook(tree function, const char *name)
{
    TREE_TYPE(function) = type_with(TREE_TYPE(function), hook_mark, NULL_TREE);
    set_user_assembler_name(function, name);
}

static bool is_hook_number(int builtin)
{
    return builtin >= BUILT_IN_TSAN_FUNC_ENTRY && builtin <= BUILT_IN_TSAN_WRITE_RANGE;
}

// Hooks of volatile accesses stay as they are (--param=tsan-distinguish-volatile=1): programs bring their
// own and want every call.
bool is_hook(const gimple *s)
{
    const tree function = is_gimple_call(s) ? gimple_call_fndecl(s) : NULL_TREE;

    return function && fndecl_built_in_p(function, BUILT_IN_NORMAL) &&
           is_hook_number(DECL_FUNCTION_CODE(function));
}

static tree gate_hook, memory_calls[3];

// The properties that gcc knows of the builtins stay true of the functions, and must: gcc has long used
// them to decide which locals no other function can reach. In gcc's words: returns the first argument, and
// touches only the memory of the first (written) and second (read), as many bytes as the third says.
static const struct {
    built_in_function builtin;
    const char *name, *touches;
} memory[3] = {
    {BUILT_IN_MEMCPY, "memcpy", "1cO313"},
    {BUILT_IN_MEMMOVE, "memmove", "1cO313"},
    {BUILT_IN_MEMSET, "memset", "1cO3"},
};

// References that gcc's garbage collector would not find.
static const ggc_root_tab roots[] = {
    {&gate_hook, 1, sizeof(gate_hook), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
    {memory_calls, 3, sizeof(memory_calls[0]), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
    LAST_GGC_ROOT_TAB,
};

static void see_function(void *function, void *)
{
    asm_hooks_see(static_cast<tree>(function));
}

static void finish_unit(void *, void *)
{
    asm_hooks_finish();
}

static void begin_unit(void *, void *)
{
    static bool done;

    const bool far =
        ix86_cmodel == CM_LARGE || ix86_cmodel == CM_LARGE_PIC; // a probe cannot call over this distance

    if (done || far || !(flag_sanitize & SANITIZE_THREAD) || !TARGET_64BIT)
        return;
    for (int b = BUILT_IN_TSAN_FUNC_ENTRY; is_hook_number(b); b++) {
        tree function = builtin_decl_implicit((built_in_function)b);
        if (!function) // the front end declares them when the sanitizer is on
            return;
        const char *name = IDENTIFIER_POINTER(DECL_NAME(function)); // __builtin___tsan_read8
        mark_hook(function, concat("__railbird_", strstr(name, "__tsan_") + strlen("__tsan_"), NULL));
    }
    gate_hook =
        build_fn_decl("__railbird_gate", build_function_type_list(void_type_node, ptr_type_node, NULL_TREE));
    TREE_NOTHROW(gate_hook) = 1;
    DECL_ATTRIBUTES(gate_hook) = tree_cons(get_identifier("leaf"), NULL_TREE, NULL_TREE);
    mark_hook(gate_hook, "__railbird_gate");
    asm_hooks_begin(mark_hook);
    for (int i = 0; i < 3; i++) {
        const tree touches = build_string(strlen(memory[i].touches), memory[i].touches);
        memory_calls[i] =
            build_fn_decl(memory[i].name, type_with(TREE_TYPE(builtin_decl_implicit(memory[i].builtin)),
                                                    "fn spec", build_tree_list(NULL_TREE, touches)));
        TREE_NOTHROW(memory_calls[i]) = 1;
    }
    done = true;
}

// ---- copies of memory ----------------------------------------------------------------------------------

// Turns small copies into calls: gcc expands them after it has instrumented, so they would not be seen.
static void show_memory_call(gimple *s)
{
    const tree function = is_gimple_call(s) ? gimple_call_fndecl(s) : NULL_TREE;

    if (!function || !fndecl_built_in_p(function, BUILT_IN_NORMAL))
        return;
    for (int i = 0; i < 3; i++)
        if (DECL_FUNCTION_CODE(function) == memory[i].builtin) {
            gimple_call_set_fndecl(as_a<gcall *>(s), memory_calls[i]);
            gimple_call_set_fntype(as_a<gcall *>(s), TREE_TYPE(memory_calls[i]));
            update_stmt(s);
        }
}

static void show_memory_calls(function *fun)
{
    basic_block bb;

    FOR_EACH_BB_FN (bb, fun)
        for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i))
            show_memory_call(gsi_stmt(i));
}

// ---- functions that can have two copies ----------------------------------------------------------------

struct contents {
    unsigned hooks;
    bool calls; // of anything else
    bool waits; // of a function that waits
};

// Functions of the system, by their linker's names, in which a thread may stay for long. Locks are not
// among them: they are usually held for a short time, and taken often.
static const char *const waiting[] = {
    "accept",
    "accept4",
    "aio_suspend",
    "clock_nanosleep",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "epoll_pwait",
    "epoll_wait",
    "mq_receive",
    "mq_timedreceive",
    "msgrcv",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect",
    "pthread_barrier_wait",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_timedjoin_np",
    "read",
    "recv",
    "recvfrom",
    "recvmsg",
    "select",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "syscall",
    "thrd_join",
    "thrd_sleep",
    "usleep",
    "wait",
    "wait4",
    "waitid",
    "waitpid",
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
    "_ZNSt6thread4joinEv",
};

static bool is_waiting(const gimple *s)
{
    const tree function = is_gimple_call(s) ? gimple_call_fndecl(s) : NULL_TREE;

    if (!function || !TREE_PUBLIC(function) || !DECL_EXTERNAL(function) || gimple_call_noreturn_p(s))
        return false;
    const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(function));
    name += *name == '*';
    for (const char *w : waiting)
        if (!strcmp(name, w))
            return true;
    return false;
}

static void add_contents(basic_block bb, contents *c)
{
    for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
        const gimple *s = gsi_stmt(i);
        if (is_hook(s))
            c->hooks++;
        else if (is_gimple_call(s) && !gimple_call_internal_p(s))
            c->calls = true;
        c->waits = c->waits || is_waiting(s);
    }
}

// Returns true if inline assembly may define a name, which can exist only once: "name:", but not "1:".
static bool defines_a_name(const gasm *s)
{
    const char *text = gimple_asm_string(s);

    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *from = colon;
        while (from > text && (ISALNUM(from[-1]) || from[-1] == '_' || from[-1] == '.' || from[-1] == '$'))
            from--;
        if (from < colon && !ISDIGIT(*from))
            return true;
    }
    return strstr(text, ".set") || strstr(text, ".equ");
}

static bool can_have_two(function *fun)
{
    basic_block bb;
    edge e;
    edge_iterator ei;
    contents all = {};

    if (fun->calls_setjmp || fun->has_nonlocal_label || fun->has_forced_label_in_static || !current_loops ||
        optimize_function_for_size_p(fun))
        return false;
    FOR_EACH_BB_FN (bb, fun) {
        add_contents(bb, &all);
        FOR_EACH_EDGE (e, ei, bb->succs)
            if (e->flags & EDGE_ABNORMAL) // computed goto
                return false;
        for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
            const gasm *assembly = dyn_cast<gasm *>(gsi_stmt(i));
            if (assembly && (gimple_asm_nlabels(assembly) || defines_a_name(assembly)))
                return false;
            const glabel *label = dyn_cast<glabel *>(gsi_stmt(i));
            if (label &&
                (FORCED_LABEL(gimple_label_label(label)) || DECL_NONLOCAL(gimple_label_label(label))))
                return false;
        }
    }
    return all.hooks >= FEW_HOOKS;
}

static contents contents_of(const class loop *l)
{
    contents inside = {};
    basic_block *body = get_loop_body(l);

    for (unsigned i = 0; i < l->num_nodes; i++)
        add_contents(body[i], &inside);
    free(body);
    return inside;
}

// ---- places that choose a copy -------------------------------------------------------------------------

struct places {
    auto_vec<basic_block> heads;  // of loops: by the gate, every time round
    auto_vec<basic_block> woken;  // after calls that wait: each by a gate of its own
    auto_vec<basic_block> rounds; // ends of loops that are left whole: the same, but out of the hooks only
    auto_vec<basic_block> probed; // branches
    auto_bb_flag is_head;         // marks blocks of the first two kinds: they belong to both copies

    explicit places(function *fun) : is_head(fun)
    {
    }
};

// Splits blocks, so that each such call is the last of its block. Loops around them choose at their heads
// (below), as do all loops that have a block of both copies inside. Otherwise there would be two ways into
// them.
static void find_woken(function *fun, places *p)
{
    basic_block bb;

    FOR_EACH_BB_FN (bb, fun)
        for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i)) {
            if (!is_waiting(gsi_stmt(i)))
                continue;
            const edge on =
                stmt_ends_bb_p(gsi_stmt(i)) ? find_fallthru_edge(bb->succs) : split_block(bb, gsi_stmt(i));
            if (on) {
                p->woken.safe_push(split_edge(on));
                p->woken.last()->flags |= p->is_head;
            }
            break; // the rest is a block of its own, and comes next
        }
}

// Finds loops that choose the copy anew at their heads. Other loops would lose more than they gain: they
// are left whole.
static void find_heads(function *fun, places *p)
{
    for (auto l : loops_list(fun, 0)) {
        if (!loop_outer(l))
            continue;
        const contents inside = contents_of(l);
        if ((inside.hooks && (inside.calls || l->inner)) || inside.waits) {
            p->heads.safe_push(l->header);
            l->header->flags |= p->is_head;
        }
    }
}

// Returns true for a loop that is left whole and may run for long. In the instrumented copy such a loop is
// observed for a while, and then continues without hooks, from the same round. There is no way back, so the
// compiler can optimise the loop without hooks. Loops inside other loops need none, as these choose each
// time round.
static bool has_rounds(class loop *l, const places *p)
{
    if (loop_depth(l) != 1 || l->header->flags & p->is_head || !l->latch || !contents_of(l).hooks)
        return false;
    const HOST_WIDE_INT most = get_max_loop_iterations_int(l);
    return most < 0 || most >= FEW_ROUNDS;
}

static void find_rounds(function *fun, places *p)
{
    for (auto l : loops_list(fun, 0))
        if (has_rounds(l, p))
            p->rounds.safe_push(split_edge(loop_latch_edge(l)));
}

// Returns the loop, left whole, that runs the block in every round; the block's hooks count as its
// preheader's.
static class loop *whole_loop_of(basic_block bb, const places *p)
{
    class loop *l = bb->loop_father;

    if (!loop_outer(l) || l->header->flags & p->is_head || !l->latch ||
        !dominated_by_p(CDI_DOMINATORS, l->latch, bb))
        return NULL;
    return l;
}

static bool has_hooks(basic_block bb)
{
    contents c = {};

    add_contents(bb, &c);
    return c.hooks > 0;
}

// Returns true if one block runs whenever the other does, and as often. Code after a loop runs once, maybe
// long after the loop was last observed.
static bool runs_with(basic_block bb, basic_block before)
{
    return dominated_by_p(CDI_POST_DOMINATORS, before, bb) &&
           !flow_loop_nested_p(bb->loop_father, before->loop_father);
}

// Finds probes in the dominator tree. `before` is the nearest block, on every path to here, that chooses a
// copy. A block that runs with it needs no probe.
static void find_probes_below(basic_block bb, basic_block before, places *p, hash_set<basic_block> &wanted)
{
    if (bb->flags & p->is_head || (bb == bb->loop_father->header && has_rounds(bb->loop_father, p))) {
        before = bb;
    } else if (wanted.contains(bb) && !runs_with(bb, before)) {
        p->probed.safe_push(bb);
        before = bb;
    }
    for (basic_block son = first_dom_son(CDI_DOMINATORS, bb); son; son = next_dom_son(CDI_DOMINATORS, son))
        find_probes_below(son, before, p, wanted);
}

static void find_probes(function *fun, places *p)
{
    hash_set<basic_block> wanted;
    basic_block bb;

    FOR_EACH_BB_FN (bb, fun) {
        const class loop *l = has_hooks(bb) ? whole_loop_of(bb, p) : NULL;
        if (l)
            wanted.add(loop_preheader_edge(l)->src);
        else if (has_hooks(bb))
            wanted.add(bb);
    }
    basic_block first = single_succ(ENTRY_BLOCK_PTR_FOR_FN(fun));
    find_probes_below(first, first, p, wanted);
}

// ---- making the copies ---------------------------------------------------------------------------------

static tree make_gate(void)
{
    tree gate = build_decl(DECL_SOURCE_LOCATION(current_function_decl), VAR_DECL,
                           create_tmp_var_name("railbird_gate"), unsigned_char_type_node);

    TREE_STATIC(gate) = TREE_USED(gate) = TREE_ADDRESSABLE(gate) = DECL_ARTIFICIAL(gate) =
        DECL_IGNORED_P(gate) = 1;
    DECL_INITIAL(gate) = build_one_cst(unsigned_char_type_node);
    set_decl_section_name(gate, "rb_gates");
    varpool_node::add(gate);
    return gate;
}

// Gives the phi nodes of e's target, a copy, the arguments that those of `like`'s target get from `like`.
static void add_phi_args_like(edge e, edge like)
{
    gphi_iterator to = gsi_start_phis(e->dest);

    for (gphi_iterator i = gsi_start_phis(like->dest); !gsi_end_p(i); gsi_next(&i), gsi_next(&to))
        add_phi_arg(to.phi(), PHI_ARG_DEF_FROM_EDGE(i.phi(), like), e, UNKNOWN_LOCATION);
}

// Ends `from`, which leads to the instrumented copy alone, with a choice: there if the gate is open,
// else to `quiet`.
static void choose_body(basic_block from, basic_block quiet, tree gate)
{
    gimple_stmt_iterator at = gsi_last_bb(from);
    tree open = make_ssa_name(unsigned_char_type_node);
    edge with = single_succ_edge(from);

    gsi_insert_after(&at, gimple_build_assign(open, gate), GSI_CONTINUE_LINKING);
    gsi_insert_after(&at,
                     gimple_build_cond(NE_EXPR, open, build_zero_cst(unsigned_char_type_node), NULL_TREE,
                                       NULL_TREE),
                     GSI_CONTINUE_LINKING);
    with->flags = (with->flags & ~EDGE_FALLTHRU) | EDGE_TRUE_VALUE;
    with->probability = profile_probability::very_unlikely();
    edge without = make_edge(from, quiet, EDGE_FALSE_VALUE);
    without->probability = with->probability.invert();
    add_phi_args_like(without, with);

    basic_block told = split_edge(with);
    gimple_stmt_iterator first = gsi_start_bb(told);
    gsi_insert_before(&first, gimple_build_call(gate_hook, 1, build_fold_addr_expr(gate)), GSI_NEW_STMT);
}

static void add_clobber(vec<tree, va_gc> **clobbers, const char *name)
{
    vec_safe_push(*clobbers, build_tree_list(NULL_TREE, build_string(strlen(name), name)));
}

static void add_clobbers(vec<tree, va_gc> **clobbers, const char *kind, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%s%d", kind, i);
        add_clobber(clobbers, name);
    }
}

// Lists the registers that the hook does not preserve. In assembly a vector register is clobbered whole or
// not at all: if more than the lower half may be in use, it is whole.
static vec<tree, va_gc> *lost_in_probe(void)
{
    vec<tree, va_gc> *clobbers = NULL;

    add_clobber(&clobbers, "cc");
    add_clobbers(&clobbers, "r", 10, 11);
    if (TARGET_AVX)
        add_clobbers(&clobbers, "xmm", 0, 15);
    if (TARGET_AVX512F) {
        add_clobbers(&clobbers, "xmm", 16, 31);
        add_clobbers(&clobbers, "k", 0, 7);
    }
    return clobbers;
}

// Ends `from`, in the plain copy, with a probe: it continues there, or into the instrumented copy. The
// function calls its other hooks as well, so it is no leaf, and a call in assembly overwrites nothing below
// its stack pointer.
static void add_probe(basic_block from, basic_block with)
{
    gimple_stmt_iterator at = gsi_last_bb(from);
    vec<tree, va_gc> *labels = NULL;

    vec_safe_push(labels, build_tree_list(NULL_TREE, gimple_block_label(with)));
    gasm *s =
        gimple_build_asm_vec("call\t__railbird_probe@PLT\n\tjc\t%l0", NULL, NULL, lost_in_probe(), labels);
    gimple_asm_set_volatile(s, true);
    gsi_insert_after(&at, s, GSI_CONTINUE_LINKING);
    edge on = single_succ_edge(from), other = make_edge(from, with, 0);
    other->probability = profile_probability::very_unlikely();
    on->probability = other->probability.invert();
}

static void take_hooks_out(basic_block bb)
{
    for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i);) {
        gimple *s = gsi_stmt(i);
        if (!is_hook(s)) {
            gsi_next(&i);
            continue;
        }
        unlink_stmt_vdef(s);
        gsi_remove(&i, true);
        release_defs(s);
    }
}

// Heads of loops, and code after waiting, belong to both copies: all paths lead there, and the copy is
// chosen there. So both copies have the shape of the original, and gcc's renaming (TODO_update_ssa) joins
// their versions of each variable.
static unsigned make_two(function *fun)
{
    auto_vec<basic_block> from, to;
    basic_block bb;

    loop_optimizer_init(LOOPS_HAVE_PREHEADERS | LOOPS_HAVE_SIMPLE_LATCHES);
    places p(fun);
    const basic_block entry = split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)));
    find_woken(fun, &p);
    calculate_dominance_info(CDI_DOMINATORS);
    calculate_dominance_info(CDI_POST_DOMINATORS);
    find_heads(fun, &p);
    find_probes(fun, &p);
    find_rounds(fun, &p);
    free_dominance_info(CDI_DOMINATORS);
    free_dominance_info(CDI_POST_DOMINATORS);
    for (auto head : p.heads)
        split_block_after_labels(head);
    for (auto after : p.woken)
        split_block_after_labels(after);
    for (auto branch : p.probed)
        split_block_after_labels(branch);
    p.heads.safe_push(entry);
    entry->flags |= p.is_head;
    FOR_EACH_BB_FN (bb, fun)
        if (!(bb->flags & p.is_head))
            from.safe_push(bb);
    loop_optimizer_finalize(); // found anew below: there are twice as many
    if (can_copy_bbs_p(from.address(), from.length())) {
        const tree gate = make_gate();
        initialize_original_copy_tables();
        to.safe_grow(from.length());
        copy_bbs(from.address(), from.length(), to.address(), NULL, 0, NULL, NULL,
                 EXIT_BLOCK_PTR_FOR_FN(fun)->prev_bb, false);
        add_phi_args_after_copy(to.address(), to.length(), NULL);
        for (auto quiet : to)
            take_hooks_out(quiet);
        for (auto with : from) {
            with->count = with->count.apply_scale(1, 2000); // very unlikely
            for (gimple_stmt_iterator i = gsi_start_bb(with); !gsi_end_p(i); gsi_next(&i))
                show_memory_call(gsi_stmt(i));
        }
        for (auto branch : p.probed)
            add_probe(get_bb_copy(branch), single_succ(branch));
        for (auto head : p.heads)
            choose_body(head, get_bb_copy(single_succ(head)), gate);
        for (auto after : p.woken)
            choose_body(after, get_bb_copy(single_succ(after)), make_gate());
        for (auto round : p.rounds)
            choose_body(round, get_bb_copy(single_succ(round)), make_gate());
        free_original_copy_tables();
    }
    FOR_EACH_BB_FN (bb, fun)
        bb->flags &= ~p.is_head;
    loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
    return TODO_update_ssa | TODO_cleanup_cfg;
}

// Names of their own: gcc puts a pass behind all passes of a name.
static const pass_data two_bodies = {
    GIMPLE_PASS, "railbird", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};
static const pass_data one_body = {
    GIMPLE_PASS, "railbird0", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct bodies_pass : gimple_opt_pass {
    explicit bodies_pass(gcc::context *c, bool two)
        : gimple_opt_pass(two ? two_bodies : one_body, c), two_(two)
    {
    }
    // Each function goes through one of the two: gcc has "tsan0" for functions that it optimises as well.
    bool gate(function *) override
    {
        return gate_hook != NULL_TREE && two_ == (optimize >= 1 && !optimize_debug);
    }
    unsigned execute(function *fun) override
    {
        asm_hooks_add(fun);
        if (two_ && can_have_two(fun))
            return make_two(fun);
        show_memory_calls(fun);
        return 0;
    }
    bool two_;
};

// ---- loop invariants -----------------------------------------------------------------------------------
// gcc reads a variable before a loop even if the loop reads it only under a condition: if the loop does not
// change it, or keeps it in a register meanwhile. That is harmless until a hook is put on the read: then a
// thread that never touched the variable counts as a reader of it. So gcc may do it only after the hooks
// are there, which prevent it, and in the plain copy.

static int was_to_move;

static const pass_data before_hooks = {
    GIMPLE_PASS, "railbird_before", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};
static const pass_data after_hooks = {
    GIMPLE_PASS, "railbird_after", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

struct invariants_pass : gimple_opt_pass {
    explicit invariants_pass(gcc::context *c, bool before)
        : gimple_opt_pass(before ? before_hooks : after_hooks, c), before_(before)
    {
    }
    bool gate(function *) override
    {
        return gate_hook != NULL_TREE;
    }
    unsigned execute(function *) override
    {
        if (before_)
            was_to_move = flag_tree_loop_im;
        flag_tree_loop_im = before_ ? 0 : was_to_move;
        return 0;
    }
    bool before_;
};

// ---- registration --------------------------------------------------------------------------------------

// Registers the passes. With a gcc that it was not built for, the plugin does nothing, and the code is as
// always. `railbird cc` prevents that case.
int plugin_init(struct plugin_name_args *info, struct plugin_gcc_version *version)
{
    if (!plugin_default_version_check(version, &gcc_version))
        return 0;
    next_fntype_abi = targetm.calls.fntype_abi;
    next_part_clobbered = targetm.hard_regno_call_part_clobbered;
    next_sibcall_ok = targetm.function_ok_for_sibcall;
    targetm.calls.fntype_abi = fntype_abi_with_hooks;
    targetm.hard_regno_call_part_clobbered = part_clobbered_with_hooks;
    targetm.function_ok_for_sibcall = sibcall_ok_without_hooks;
    register_pass_info after = {new bodies_pass(g, true), "tsan", 1, PASS_POS_INSERT_AFTER};
    register_pass_info after0 = {new bodies_pass(g, false), "tsan0", 1, PASS_POS_INSERT_AFTER};
    register_pass_info without = {new invariants_pass(g, true), "laddress", 1, PASS_POS_INSERT_BEFORE};
    register_pass_info with = {new invariants_pass(g, false), "railbird", 1, PASS_POS_INSERT_AFTER};
    register_pass_info again = {make_pass_lim(g), "railbird", 1, PASS_POS_INSERT_AFTER};
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &after);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &after0);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &without);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &again);
    register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &with); // comes before `again`
    register_callback(info->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *>(roots));
    register_callback(info->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL,
                      const_cast<ggc_root_tab *>(asm_hooks_roots));
    register_callback(info->base_name, PLUGIN_PRE_GENERICIZE, see_function, NULL);
    register_callback(info->base_name, PLUGIN_FINISH_UNIT, finish_unit, NULL);
    register_callback(info->base_name, PLUGIN_ALL_PASSES_START, begin_unit, NULL);
    return 0;
}
