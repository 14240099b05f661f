// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks of a thread's own stack that remember the last one (docs/explanation/stacks.md, "Why remembering is exact").
//
// Invariant of struct rb_walk, between captures: frame[0..frames) is the result of a walk from the
// innermost of them. It needs two conditions: the words in word[] have not changed, and frame[].at.bp is
// right where needs_bp is set. The same holds for each frame k and the words before frame[k].words. So a new
// walk may stop at the first frame that it has in common with the last one, if those words are unchanged.
//
// A signal handler that captures on top of an interrupted capture finds `busy` and gets a stack of one
// frame. If it leaves by siglongjmp instead of returning, `busy` stays; the next capture from further out
// takes over.
#include "run/core/stack.h"

#define PAGE 4096

// The result of one walk: the first `kept` frames are the last walk's, frame[from..RB_WALK_FRAMES) are new.
struct found {
    unsigned kept, from;
    bool cut; // ended for want of room
};

// Returns how many of the first `frames` frames are still valid: all words they depend on are unchanged.
static unsigned count_valid(const struct rb_walk *w, unsigned frames)
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
    return known->at.sp == f->sp && known->at.pc == f->pc && (!known->needs_bp || known->at.bp == f->bp);
}

// Stores word by word. Compilers like to join the words into vectors; a reader of one word would then wait
// for the write.
RB_INLINE void put_frame(struct rb_walk_frame *frame, struct rb_unwind_frame f, uint64_t rule)
{
    rb_store_relaxed(&frame->at.pc, f.pc);
    rb_store_relaxed(&frame->at.sp, f.sp);
    rb_store_relaxed(&frame->at.bp, f.bp);
    rb_store_relaxed(&frame->rule, rule);
}

RB_INLINE struct rb_unwind_frame get_frame(const struct rb_walk_frame *frame)
{
    struct rb_unwind_frame f;

    f.pc = rb_load_relaxed(&frame->at.pc);
    f.sp = rb_load_relaxed(&frame->at.sp);
    f.bp = rb_load_relaxed(&frame->at.bp);
    return f;
}

// Walks from f outwards, until a frame is in common with the last walk, no frame is left, or `most` are
// new. New frames fill the array from its end. They may cover inner frames of the last walk; f is beyond
// those, so they are not used.
static void walk_frames(struct rb_walk *w, struct rb_unwind_frame f, const struct rb_unwind_bounds *b,
                        unsigned most, struct found *out)
{
    unsigned known = w->frames;
    struct rb_walk_frame *frame = w->frame + RB_WALK_FRAMES, *const last = frame - most;
    bool checked = false, cut = false;

    for (;;) {
        while (known > 0 && w->frame[known - 1].at.sp < f.sp)
            known--;
        if (known > 0 && same_frame(&w->frame[known - 1], &f)) {
            const unsigned good = checked ? known : count_valid(w, known);
            checked = true;
            if (good == known)
                break;
            known = good;
        }
        const uint64_t rule = rb_unwind_rule(f.pc);
        cut = frame == last;
        if (RB_UNLIKELY(cut ||
                        (rb_rule_kind(rule) == RB_RULE_NOWHERE && frame < w->frame + RB_WALK_FRAMES))) {
            known = 0;
            break;
        }
        put_frame(--frame, f, rule);
        if (!rb_unwind_step(&f, rule, b)) {
            known = 0;
            break;
        }
    }
    out->kept = known;
    out->from = (unsigned)(frame - w->frame);
    out->cut = cut;
}

RB_INLINE unsigned add_word(struct rb_walk *w, unsigned words, uintptr_t at, uintptr_t value)
{
    rb_store_relaxed(&w->word[words].at, at);
    rb_store_relaxed(&w->word[words].value, value);
    return words + 1;
}

// Adds the words that the step from `frame` to `outer` read, and returns their number so far. Without
// `outer`: the words that a failed step outwards read.
static unsigned add_words_of_step(struct rb_walk *w, struct rb_walk_frame *frame,
                                  const struct rb_walk_frame *outer, const struct rb_unwind_bounds *b,
                                  unsigned words)
{
    struct rb_unwind_reads reads;

    rb_unwind_reads(&frame->at, frame->rule, b, &reads);
    if (reads.cfa_at)
        words = add_word(w, words, reads.cfa_at, rb_unwind_load(reads.cfa_at));
    if (reads.pc_at)
        words = add_word(w, words, reads.pc_at, rb_unwind_load(reads.pc_at));
    if (outer && outer->needs_bp && reads.bp_at)
        words = add_word(w, words, reads.bp_at, outer->at.bp);
    return words;
}

// Puts the new frames behind the ones that were kept, with the words that they depend on.
static void remember_walk(struct rb_walk *w, const struct found *out, const struct rb_unwind_bounds *b)
{
    unsigned n = out->kept, words = n ? w->frame[n - 1].words : 0;
    const struct rb_walk_frame *outer = n ? &w->frame[n - 1] : NULL;

    for (unsigned from = out->from; from < RB_WALK_FRAMES; from++, n++) {
        const struct rb_walk_frame *found = &w->frame[from];
        struct rb_walk_frame *frame = &w->frame[n];
        const uint64_t rule = found->rule;
        put_frame(frame, get_frame(found), rule);
        frame->needs_bp = rb_unwind_uses_bp(rule);
        if (RB_LIKELY(outer && !outer->needs_bp && rb_rule_is_plain(rule)))
            words = add_word(w, words, outer->at.sp - 8, outer->at.pc);
        else if (outer || !out->cut)
            words = add_words_of_step(w, frame, outer, b, words);
        if (outer && outer->needs_bp && rb_rule_keeps_bp(rule))
            frame->needs_bp = true;
        frame->words = (uint16_t)words;
        outer = frame;
    }
    w->frames = (uint16_t)n;
    if (out->kept == 0)
        w->cut = out->cut;
}

// Returns the index of the frame of hook_pc, or -1.
static int find_hook(const struct rb_walk *w, uintptr_t hook_pc)
{
    for (int i = w->frames - 1; i >= 0 && i >= w->frames - RB_WALK_OWN; i--)
        if (w->frame[i].at.pc == hook_pc)
            return i;
    return -1;
}

// Finds nodes for the frames from `first` to `hook`. The nodes of the first `kept` frames still hold if
// their stacks begin at the same frame. Returns the last node; 0: the table is full.
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

static rb_stack stack_of_pc(uintptr_t hook_pc)
{
    return rb_stack_child(0, hook_pc);
}

static rb_stack drop_stack(uintptr_t hook_pc)
{
    rb_stack_drop();
    return stack_of_pc(hook_pc);
}

static RB_NOINLINE rb_stack capture_stack(struct rb_walk *w, const struct rb_unwind_frame *top,
                                          const struct rb_unwind_bounds *b, uintptr_t hook_pc, unsigned depth)
{
    const uint64_t generation = rb_unwind_generation();
    const unsigned most = depth + RB_WALK_OWN + RB_WALK_SPARE;
    struct found out;
    int hook;

    if (w->generation != generation || w->hi != b->hi)
        w->frames = w->named = 0;
    w->last = 0;
    walk_frames(w, *top, b, most, &out);
    remember_walk(w, &out, b);
    hook = find_hook(w, hook_pc);
    if (w->cut && out.kept && hook + 1 < (int)depth) {
        // Too few frames are left of a walk that was cut: walk again, from nothing.
        w->frames = 0;
        walk_frames(w, *top, b, most, &out);
        remember_walk(w, &out, b);
        hook = find_hook(w, hook_pc);
    }
    w->generation = generation;
    w->hi = b->hi;
    if (w->named > out.kept)
        w->named = (uint16_t)out.kept;
    if (hook < 0)
        return stack_of_pc(hook_pc);
    const unsigned inner = (unsigned)hook + 1;
    const rb_stack s = name_frames(w, inner > depth ? inner - depth : 0, (unsigned)hook, out.kept);
    if (!s)
        return drop_stack(hook_pc);
    w->hook_pc = hook_pc;
    w->hook = (uint16_t)hook;
    w->hook_word = RB_WALK_NO_WORD;
    if (inner < w->frames && w->word[w->frame[hook].words].at == w->frame[hook].at.sp - 8)
        w->hook_word = w->frame[hook].words; // the first that the next frame depends on
    w->depth = depth;
    return w->last = s;
}

// Returns true if all frames of the last capture are unchanged, except perhaps for the pc in the hook's
// frame.
RB_INLINE bool is_unchanged(struct rb_walk *w, const struct rb_unwind_frame *top, uintptr_t hi,
                            uintptr_t hook_pc, unsigned depth)
{
    if (w->last == 0 || w->depth != depth || w->hi != hi || w->generation != rb_unwind_generation())
        return false;
    const struct rb_walk_frame *innermost = &w->frame[w->frames - 1];
    if (!same_frame(innermost, top))
        return false;
    if (w->hook_word != RB_WALK_NO_WORD)
        w->word[w->hook_word].value = hook_pc; // the value that the word must have
    else if (w->hook_pc != hook_pc)
        return false;
    const struct rb_walk_word *word = w->word, *end = word + innermost->words;
    uintptr_t changed = 0;
    for (; word < end; word++)
        changed |= rb_unwind_load(word->at) ^ word->value;
    if (RB_LIKELY(changed == 0))
        return true;
    if (w->hook_word != RB_WALK_NO_WORD)
        w->word[w->hook_word].value = w->hook_pc;
    return false;
}

// Returns the stack of another access in the same call: the hook's frame differs in its pc alone. If the
// rules agree too, a walk would go on as the last one did. 0: they do not, or the tree is full.
RB_INLINE rb_stack stack_of_site(struct rb_walk *w, uintptr_t hook_pc)
{
    struct rb_walk_frame *frame = &w->frame[w->hook];

    if (RB_LIKELY(rb_unwind_rule(hook_pc) == frame->rule)) {
        const rb_stack s = rb_stack_child(w->hook > w->first ? frame[-1].node : 0, hook_pc);
        if (RB_LIKELY(s)) {
            frame->at.pc = w->hook_pc = hook_pc;
            return frame->node = w->last = s;
        }
    }
    w->word[w->hook_word].value = w->hook_pc;
    return 0;
}

RB_INLINE rb_stack recall_stack(struct rb_walk *w, const struct rb_unwind_frame *top, uintptr_t hi,
                                uintptr_t hook_pc, unsigned depth)
{
    if (!is_unchanged(w, top, hi, hook_pc, depth))
        return 0;
    return RB_LIKELY(w->hook_pc == hook_pc) ? w->last : stack_of_site(w, hook_pc);
}

// Begins work on w. Returns false if another capture is at work on it; an interrupted one is not, if its
// frame is gone.
RB_INLINE bool enter_walk(struct rb_walk *w, uintptr_t sp)
{
    const uintptr_t other = w->busy;

    if (RB_UNLIKELY(other != 0)) {
        const bool elsewhere = w->stack_hi != 0 && (sp < w->stack_lo || sp >= w->stack_hi);
        if (sp <= other || elsewhere)
            return false;
        w->frames = w->named = 0; // half done
        w->last = 0;
    }
    rb_store_relaxed(&w->busy, sp);
    rb_fence_signal();
    return true;
}

// Ends work on w. Returns false if a handler has worked on w meanwhile, on a stack of which nothing is
// known.
RB_INLINE bool leave_walk(struct rb_walk *w, uintptr_t sp)
{
    rb_fence_signal();
    const bool ours = rb_load_relaxed(&w->busy) == sp;
    if (RB_UNLIKELY(!ours)) {
        w->frames = w->named = 0;
        w->last = 0;
    }
    rb_store_relaxed(&w->busy, 0);
    return ours;
}

RB_INLINE rb_stack find_stack(struct rb_walk *w, const struct rb_unwind_frame *top,
                              const struct rb_unwind_bounds *b, uintptr_t hook_pc, unsigned depth)
{
    if (RB_UNLIKELY(!enter_walk(w, top->sp)))
        return stack_of_pc(hook_pc);
    rb_stack s = recall_stack(w, top, b->hi, hook_pc, depth);
    if (RB_UNLIKELY(!s))
        s = capture_stack(w, top, b, hook_pc, depth);
    return RB_LIKELY(leave_walk(w, top->sp)) ? s : stack_of_pc(hook_pc);
}

RB_INLINE unsigned limit_depth(unsigned depth)
{
    return depth < 1 ? 1 : depth > RB_STACK_DEPTH ? RB_STACK_DEPTH : depth;
}

// Sets up a frame by the use of the frame address: saved rbp and return address are at its two words. On a
// foreign stack (a signal stack, a coroutine) only the current page is certain to exist.
RB_NOINLINE rb_stack rb_stack_here(struct rb_walk *w, uintptr_t hook_pc, unsigned depth)
{
    const uintptr_t *here = __builtin_frame_address(0);
    const struct rb_unwind_frame caller = {here[1], (uintptr_t)(here + 2), here[0]};
    const bool known = caller.sp >= w->stack_lo && caller.sp < w->stack_hi;
    const struct rb_unwind_bounds bounds = {caller.sp,
                                            known ? w->stack_hi : ((caller.sp - 1) | (PAGE - 1)) + 1};

    return find_stack(w, &caller, &bounds, hook_pc, limit_depth(depth));
}

rb_stack rb_stack_from(struct rb_walk *w, const struct rb_unwind_frame *top, unsigned depth)
{
    const struct rb_unwind_bounds bounds = {w->stack_lo, w->stack_hi};

    if (top->sp < w->stack_lo || top->sp >= w->stack_hi)
        return stack_of_pc(top->pc);
    return find_stack(w, top, &bounds, top->pc, limit_depth(depth));
}
