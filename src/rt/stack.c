// Walks of a thread's own stack that remember the last one (docs/stacks.md, "Why remembering is exact").
//
// Invariant of struct rb_walk, between captures: frame[0..frames) is what a walk from the innermost of them would
// see, as long as the words in word[] have not changed and frame[].at.bp is right where needs_bp says so.
// More is true: the same holds for each frame k and the words before frame[k].words. So a new walk may stop
// at the first frame that it has in common with the last one, if those words are unchanged.
//
// A signal handler that captures on top of an interrupted capture finds `busy` and gets a stack of one frame. If
// it leaves by siglongjmp instead of returning, `busy` stays; the next capture from further out takes over.
#include "rt/stack.h"

#include "rt/stack_tree.h"

#define PAGE 4096

// What one walk found: the first `kept` frames are the last walk's, frame[from..RB_WALK_FRAMES) are new.
struct found {
    unsigned kept, from;
    bool cut;                     // ended for want of room
    struct rb_unwind_reads ended; // else: what the outermost frame's last, vain step read
};

// How many of the first `frames` frames still stand: all words they depend on are as they were.
static unsigned standing(const struct rb_walk *w, unsigned frames)
{
    const unsigned words = w->frame[frames - 1].words;
    unsigned good = 0;

    while (good < words && rb_unwind_load(w->word[good].at) == w->word[good].value)
        good++;
    if (RB_LIKELY(good == words))
        return frames;
    while (w->frame[frames - 1].words > good)
        if (--frames == 0)
            break;
    return frames;
}

RB_INLINE bool same_frame(const struct rb_walk_frame *known, const struct rb_unwind_frame *f)
{
    return known->at.sp == f->sp && known->at.pc == f->pc && (!(known->flags & RB_WALK_NEEDS_BP) || known->at.bp == f->bp);
}

// From f outwards, until there is a frame in common with the last walk, or no frame, or `most` new ones. New
// frames fill the array from its end; they may cover what was the inner part of the last walk.
static void walk(struct rb_walk *w, struct rb_unwind_frame f, const struct rb_unwind_bounds *b, unsigned most,
                 struct found *out)
{
    unsigned known = w->frames, from = RB_WALK_FRAMES;
    bool checked = false, cut = false;
    struct rb_unwind_reads reads = {.used_bp = false};

    for (;;) {
        while (known > 0 && w->frame[known - 1].at.sp < f.sp)
            known--;
        if (known > 0 && same_frame(&w->frame[known - 1], &f)) {
            const unsigned good = checked ? known : standing(w, known);
            checked = true;
            if (good == known)
                break;
            known = good;
        }
        const uint64_t rule = rb_unwind_rule(f.pc);
        cut = RB_WALK_FRAMES - from >= most;
        if (cut || (rb_rule_kind(rule) == RB_RULE_NOWHERE && from < RB_WALK_FRAMES)) {
            known = 0;
            break;
        }
        struct rb_walk_frame *frame = &w->frame[--from];
        if (known > from)
            known = from;
        frame->at.pc = f.pc;
        frame->at.sp = f.sp;
        frame->at.bp = f.bp;
        const bool more = rb_unwind_step(&f, rule, b, &reads);
        frame->bp_at = reads.bp.at;
        frame->cfa_at = reads.cfa.at;
        frame->cfa_add = (uint8_t)(rb_rule_add(rule) / sizeof(uintptr_t));
        frame->flags = (uint8_t)((reads.used_bp ? RB_WALK_USED_BP : 0) | (reads.kept_bp ? RB_WALK_KEPT_BP : 0) |
                                 (reads.cfa.at ? RB_WALK_LOADED_CFA : 0) |
                                 (rb_rule_kind(rule) == RB_RULE_SIGNAL ? RB_WALK_INTERRUPTED : 0));
        if (!more) {
            known = 0;
            break;
        }
    }
    out->kept = known;
    out->from = from;
    out->cut = cut;
    out->ended = reads;
}

RB_INLINE unsigned depend(struct rb_walk *w, unsigned words, uintptr_t at, uintptr_t value)
{
    w->word[words].at = at;
    w->word[words].value = value;
    return words + 1;
}

// The outermost frame that there is to see: it depends on what its last step read in vain.
static unsigned end_walk(struct rb_walk *w, const struct found *out)
{
    struct rb_walk_frame *frame = &w->frame[0];
    unsigned words = 0;

    if (out->cut) {
        frame->flags = 0;
        return 0;
    }
    frame->flags |= frame->flags & RB_WALK_USED_BP ? RB_WALK_NEEDS_BP : 0;
    if (out->ended.cfa.at)
        words = depend(w, words, out->ended.cfa.at, out->ended.cfa.value);
    if (out->ended.pc.at)
        words = depend(w, words, out->ended.pc.at, out->ended.pc.value);
    return words;
}

// Puts the new frames behind the ones that were kept, with the words that they depend on. Fields are moved in the
// sizes they were just written in, or the processor waits for the writes.
static void remember(struct rb_walk *w, const struct found *out)
{
    unsigned n = out->kept, words = n ? w->frame[n - 1].words : 0;
    const struct rb_walk_frame *outer = n ? &w->frame[n - 1] : NULL;

    for (unsigned from = out->from; from < RB_WALK_FRAMES; from++, n++) {
        const struct rb_walk_frame *new = &w->frame[from];
        struct rb_walk_frame *frame = &w->frame[n];
        uint8_t flags = new->flags;
        frame->at.pc = __atomic_load_n(&new->at.pc, __ATOMIC_RELAXED);
        frame->at.sp = __atomic_load_n(&new->at.sp, __ATOMIC_RELAXED);
        frame->at.bp = __atomic_load_n(&new->at.bp, __ATOMIC_RELAXED);
        frame->flags = flags;
        if (RB_UNLIKELY(!outer)) {
            words = end_walk(w, out);
        } else {
            uintptr_t pc_at = outer->at.sp - 8;
            const bool needed = outer->flags & RB_WALK_NEEDS_BP;
            if (RB_UNLIKELY(flags & RB_WALK_LOADED_CFA)) {
                words = depend(w, words, new->cfa_at, outer->at.sp - new->cfa_add * sizeof(uintptr_t));
                if (flags & RB_WALK_INTERRUPTED)
                    pc_at = new->cfa_at + RB_SIGNAL_PC;
            }
            words = depend(w, words, pc_at, outer->at.pc - (flags & RB_WALK_INTERRUPTED ? 1 : 0));
            if (needed && new->bp_at)
                words = depend(w, words, new->bp_at, outer->at.bp);
            if (flags & RB_WALK_USED_BP || (flags & RB_WALK_KEPT_BP && needed))
                frame->flags = flags | RB_WALK_NEEDS_BP;
        }
        frame->words = (uint16_t)words;
        outer = frame;
    }
    w->frames = (uint16_t)n;
    if (out->kept == 0)
        w->cut = out->cut;
}

// The frame of hook_pc, or -1.
static int find_hook(const struct rb_walk *w, uintptr_t hook_pc)
{
    for (int i = w->frames - 1; i >= 0 && i >= w->frames - RB_WALK_OWN; i--)
        if (w->frame[i].at.pc == hook_pc)
            return i;
    return -1;
}

// Nodes for the frames from `first` to `hook`; those of the first `kept` frames still hold if their stacks begin
// at the same frame.
static rb_stack name_frames(struct rb_walk *w, unsigned first, unsigned hook, unsigned kept)
{
    unsigned named = w->first == first ? w->named : first;
    rb_stack node = 0;

    if (named > kept)
        named = kept;
    if (named < first)
        named = first;
    if (named > hook + 1)
        named = hook + 1;
    if (named > first)
        node = w->frame[named - 1].node;
    w->first = (uint16_t)first;
    for (; named <= hook; named++) {
        const rb_stack child = rb_stack_child(node, w->frame[named].at.pc);
        if (!child) {
            w->named = (uint16_t)named;
            return 0;
        }
        w->frame[named].node = node = child;
    }
    w->named = (uint16_t)named;
    return node;
}

static rb_stack alone(uintptr_t hook_pc)
{
    return rb_stack_child(0, hook_pc);
}

static rb_stack full(uintptr_t hook_pc)
{
    rb_stack_drop();
    return alone(hook_pc);
}

static RB_NOINLINE rb_stack capture(struct rb_walk *w, const struct rb_unwind_frame *top,
                                    const struct rb_unwind_bounds *b, uintptr_t hook_pc, unsigned depth)
{
    const uint64_t generation = rb_unwind_generation();
    const unsigned most = depth + RB_WALK_OWN + RB_WALK_SPARE;
    struct found out;
    int hook;

    if (w->generation != generation || w->hi != b->hi)
        w->frames = w->named = 0;
    w->last = 0;
    walk(w, *top, b, most, &out);
    remember(w, &out);
    hook = find_hook(w, hook_pc);
    if (w->cut && out.kept && hook + 1 < (int)depth) { // too little is left of what was cut: again, from nothing
        w->frames = 0;
        walk(w, *top, b, most, &out);
        remember(w, &out);
        hook = find_hook(w, hook_pc);
    }
    w->generation = generation;
    w->hi = b->hi;
    if (w->named > out.kept)
        w->named = (uint16_t)out.kept;
    if (hook < 0)
        return alone(hook_pc);
    const unsigned inner = (unsigned)hook + 1;
    const rb_stack s = name_frames(w, inner > depth ? inner - depth : 0, (unsigned)hook, out.kept);
    if (!s)
        return full(hook_pc);
    w->hook_pc = hook_pc;
    w->depth = depth;
    return w->last = s;
}

// The same capture as the last one?
RB_INLINE bool unchanged(const struct rb_walk *w, const struct rb_unwind_frame *top, uintptr_t hi,
                         uintptr_t hook_pc, unsigned depth)
{
    if (w->last == 0 || w->hook_pc != hook_pc || w->depth != depth || w->hi != hi ||
        w->generation != rb_unwind_generation())
        return false;
    const struct rb_walk_frame *innermost = &w->frame[w->frames - 1];
    if (!same_frame(innermost, top))
        return false;
    const struct rb_unwind_word *word = w->word, *end = word + innermost->words;
    uintptr_t changed = 0;
    for (; word < end; word++)
        changed |= rb_unwind_load(word->at) ^ word->value;
    return changed == 0;
}

// Nobody else is at work on w: an interrupted capture is not, if its frame is gone.
RB_INLINE bool enter(struct rb_walk *w, uintptr_t sp)
{
    const uintptr_t other = w->busy;

    if (RB_UNLIKELY(other != 0)) {
        const bool elsewhere = w->stack_hi != 0 && (sp < w->stack_lo || sp >= w->stack_hi);
        if (sp <= other || elsewhere)
            return false;
        w->frames = w->named = 0; // half done
        w->last = 0;
    }
    __atomic_store_n(&w->busy, sp, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

// False if somebody has been at work on w after all: a handler on a stack of which nothing is known.
RB_INLINE bool leave(struct rb_walk *w, uintptr_t sp)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const bool ours = __atomic_load_n(&w->busy, __ATOMIC_RELAXED) == sp;
    if (RB_UNLIKELY(!ours)) {
        w->frames = w->named = 0;
        w->last = 0;
    }
    __atomic_store_n(&w->busy, 0, __ATOMIC_RELAXED);
    return ours;
}

RB_INLINE rb_stack stack_of(struct rb_walk *w, const struct rb_unwind_frame *top,
                            const struct rb_unwind_bounds *b, uintptr_t hook_pc, unsigned depth)
{
    if (RB_UNLIKELY(!enter(w, top->sp)))
        return alone(hook_pc);
    const rb_stack s =
        RB_LIKELY(unchanged(w, top, b->hi, hook_pc, depth)) ? w->last : capture(w, top, b, hook_pc, depth);
    return RB_LIKELY(leave(w, top->sp)) ? s : alone(hook_pc);
}

RB_INLINE unsigned within_limits(unsigned depth)
{
    return depth < 1 ? 1 : depth > RB_STACK_DEPTH ? RB_STACK_DEPTH : depth;
}

// The frame address makes the compiler set up a frame: saved rbp and return address are at its two words.
// On a stack that is not the thread's (a signal stack, a coroutine) only the page that we are on is sure to be
// there.
RB_NOINLINE rb_stack rb_stack_here(struct rb_walk *w, uintptr_t hook_pc, unsigned depth)
{
    const uintptr_t *here = __builtin_frame_address(0);
    const struct rb_unwind_frame caller = {here[1], (uintptr_t)(here + 2), here[0]};
    const bool known = caller.sp >= w->stack_lo && caller.sp < w->stack_hi;
    const struct rb_unwind_bounds bounds = {caller.sp, known ? w->stack_hi : ((caller.sp - 1) | (PAGE - 1)) + 1};

    return stack_of(w, &caller, &bounds, hook_pc, within_limits(depth));
}

rb_stack rb_stack_from(struct rb_walk *w, const struct rb_unwind_frame *top, unsigned depth)
{
    const bool known = top->sp >= w->stack_lo && top->sp < w->stack_hi;
    const struct rb_unwind_bounds bounds = {known ? w->stack_lo : top->sp, known ? w->stack_hi : top->sp};

    return stack_of(w, top, &bounds, top->pc, within_limits(depth));
}
