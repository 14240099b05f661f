// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the text of asm statements (asm_text.h). Where the text can be read in two ways, the reading with more order
// counts: order that is missing invents races, and order that is not there only hides some.
#include "asm_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) != 0;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

// Returns the number of characters of the word: a name, a number, a register.
static size_t measure_word(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$%");
}

static bool is_word(const char *at, size_t n, const char *word)
{
    return n == strlen(word) && !strncasecmp(at, word, n);
}

static bool has_prefix(const char *at, size_t n, const char *prefix)
{
    return n >= strlen(prefix) && !strncasecmp(at, prefix, strlen(prefix));
}

static bool is_prefix(const char *at, size_t n)
{
    return is_word(at, n, "lock") || is_word(at, n, "rep") || is_word(at, n, "repz") ||
           is_word(at, n, "repnz") || is_word(at, n, "repe") || is_word(at, n, "repne");
}

// Notes the instruction with this name. Returns true if it does anything.
static bool read_instruction(const char *name, size_t n, asm_text *t)
{
    t->exchanges |= has_prefix(name, n, "xchg");
    t->fence |= is_word(name, n, "mfence") || is_word(name, n, "lfence") || is_word(name, n, "sfence");
    t->moves = has_prefix(name, n, "mov");
    return !is_word(name, n, "nop") && !is_word(name, n, "pause");
}

// Notes memory at a register that the text names: "(%%rsp)".
static void read_register(const char *bracket, asm_text *t)
{
    const char *name = bracket + 1 + strspn(bracket + 1, " \t");
    const size_t marks = strspn(name, "%"), n = measure_word(name);
    const bool operand = marks == 1 && (is_digit(name[1]) || (is_letter(name[1]) && is_digit(name[2])));

    if (marks == n || operand || !is_letter(name[marks]))
        return;
    if (is_word(name + marks, n - marks, "rsp") || is_word(name + marks, n - marks, "esp"))
        t->on_stack = true;
    else
        t->elsewhere = true;
}

void asm_text_read(const char *text, asm_text *t)
{
    unsigned instructions = 0;
    bool named = false; // the instruction's name has been read

    *t = asm_text();
    while (*text) {
        const size_t n = measure_word(text);
        if (*text == '#' || !strncmp(text, "//", 2)) { // a comment
            text += strcspn(text, "\n");
            continue;
        }
        if (n && text[n] != ':' && !named) {
            t->locked |= is_word(text, n, "lock");
            named = !is_prefix(text, n);
            instructions += named && read_instruction(text, n, t);
        }
        if (strchr("([", *text))
            read_register(text, t);
        if (strchr("\n;{|}", *text))
            named = false;
        text += n ? n : 1;
    }
    t->empty = !instructions && !t->locked;
    t->moves = t->moves && instructions == 1;
}

// Reads the number between `from` and `bracket` that ends there: "8" of "8(%1)"; none is 0. Returns false for
// any other text.
static bool read_offset(const char *from, const char *bracket, long *offset)
{
    const char *at = bracket;
    char *end;

    while (at > from && !strchr(" \t\n,;*", at[-1]))
        at--;
    *offset = strtol(at, &end, 0);
    return end == bracket;
}

const char *asm_text_next_base(const char *text, asm_base *base)
{
    for (const char *at = text; (at = strpbrk(at, "([%")); at++) {
        const bool short_form = at[0] == '%' && at[1] == 'a' && is_digit(at[2]); // "%a1" is "(%1)"
        const char *percent = short_form ? at : at + 1 + strspn(at + 1, " \t");
        const char *number = percent + 1 + (percent[0] == '%' && is_letter(percent[1]));
        char *end;

        if ((*at == '%' && !short_form) || *percent != '%' || !is_digit(*number)) {
            at += at[0] == '%' && at[1] == '%';
            continue;
        }
        base->operand = (unsigned)strtoul(number, &end, 10);
        base->exact = read_offset(text, at, &base->offset) && (short_form || *end == ')' || *end == ']');
        return end;
    }
    return NULL;
}
