// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The grammar of an operation is WORD(TARGET) with a WORD of events.def. The closing parenthesis is the
// last character of the field, so a target may hold parentheses of its own. Words without meaning for us
// are kept whole as marks, with or without a target.
#define _GNU_SOURCE 1
#include "trace/std/std_line.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const mark_words[] = {"begin", "end", "branch", "dummy", "req", "mark"};

// Words that people write for the operations we know.
static const char *const synonyms[][2] = {
    {"read", "r"},      {"rd", "r"},          {"write", "w"},     {"wr", "w"},       {"lock", "acq"},
    {"acquire", "acq"}, {"unlock", "rel"},    {"release", "rel"}, {"start", "fork"}, {"create", "fork"},
    {"rdlock", "racq"}, {"rdunlock", "rrel"}, {"signal", "post"},
};

enum { WORD_MAX = 8 };

// Returns a word of events.def as a number of up to WORD_MAX bytes: one comparison a word, none of strings.
static uint64_t word_number(const char *word, uint32_t length)
{
    uint64_t number = 0;

    memcpy(&number, word, length);
    return number;
}

static enum rb_op op_of_word(const char *word, uint32_t length)
{
    if (length > WORD_MAX)
        return RB_OPS;
    const uint64_t number = word_number(word, length);

#define RB_EVENT(code, NAME, text, space, acquires, releases, rapid)                                     \
    _Static_assert(sizeof(text) <= WORD_MAX, "fits the number");                                         \
    if (sizeof(text) > 1 && length == sizeof(text) - 1 && number == word_number(text, sizeof(text) - 1)) \
        return RB_##NAME;
#include "trace/events.def"
#undef RB_EVENT
    return RB_OPS;
}

bool rb_std_is_mark(const char *text, uint32_t length)
{
    for (size_t i = 0; i < RB_LENGTH(mark_words); i++) {
        const uint32_t n = (uint32_t)strlen(mark_words[i]);
        if (length < n || memcmp(text, mark_words[i], n) != 0)
            continue;
        if (length == n || (length >= n + 2 && text[n] == '(' && text[length - 1] == ')'))
            return true;
    }
    return false;
}

bool rb_std_location(const char *text, uint32_t length, int32_t *value)
{
    const bool negative = length > 0 && text[0] == '-';
    uint32_t i = negative || (length > 0 && text[0] == '+');
    int64_t sum = 0;

    if (i == length)
        return false;
    for (; i < length; i++) {
        const unsigned digit = (unsigned char)text[i] - '0';
        if (digit > 9)
            return false;
        sum = sum * 10 + digit;
        if (RB_UNLIKELY(sum > INT64_C(1) << 31))
            return false;
    }
    if (negative)
        sum = -sum;
    *value = (int32_t)sum;
    return sum <= INT32_MAX;
}

bool rb_std_parse_op(const char *field, uint32_t length, unsigned pipes, struct rb_std_line *out)
{
    uint32_t n = 0;

    // The most frequent case.
    if (length > 5 && field[3] == '(' && field[length - 1] == ')' && pipes == 2) {
        const bool acquire = memcmp(field, "acq", 3) == 0;
        if (acquire || memcmp(field, "rel", 3) == 0) {
            out->op = acquire ? RB_ACQUIRE : RB_RELEASE;
            out->target = field + 4;
            out->target_length = length - 5;
            return true;
        }
    }

    while (n < length && n < WORD_MAX && field[n] != '(')
        n++;
    if (n + 2 < length && field[n] == '(' && field[length - 1] == ')') {
        out->op = op_of_word(field, n);
        if (out->op != RB_OPS) {
            out->target = field + n + 1;
            out->target_length = length - n - 2;
            // C++ has functions called operator|; everything else keeps to three fields.
            return pipes == 2 || out->op == RB_ENTER || out->op == RB_EXIT;
        }
    }
    out->op = RB_MARK;
    out->target = field;
    out->target_length = length;
    return pipes == 2 && rb_std_is_mark(field, length);
}

const char *rb_std_show(const char *text, uint32_t length, char *to, size_t room)
{
    const bool cut = length >= room;
    const size_t n = cut ? room - 4 : length;

    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    memcpy(to + n, cut ? "..." : "", cut ? 4 : 1);
    return to;
}

// Returns the edits (insert, delete, replace) from one word to the other; both at most WORD_MAX + 1 long.
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned row[WORD_MAX + 2];

    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            const unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            unsigned best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
            row[j] = replace < best ? replace : best;
        }
    }
    return row[nb];
}

static void consider_word(const char *word, size_t length, const char *known, const char **best,
                          unsigned *least)
{
    const unsigned d = edit_distance(word, length, known, strlen(known));

    if (d < *least && d < length) {
        *least = d;
        *best = known;
    }
}

// Returns the known word that was probably meant, or NULL.
static const char *nearest_word(const char *word, size_t length)
{
    const char *best = NULL;
    unsigned least = length > 3 ? 3 : 2; // more edits make another word

    if (length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < RB_LENGTH(synonyms); i++)
        if (strlen(synonyms[i][0]) == length && memcmp(synonyms[i][0], word, length) == 0)
            return synonyms[i][1];
    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text && rb_op_info[op].text[0])
            consider_word(word, length, rb_op_info[op].text, &best, &least);
    for (size_t i = 0; i < RB_LENGTH(mark_words); i++)
        consider_word(word, length, mark_words[i], &best, &least);
    return best;
}

static int unknown_op(const char *path, uint64_t number, const char *field, uint32_t length,
                      struct rb_error *e)
{
    const char *paren = memchr(field, '(', length);
    const uint32_t word = paren ? (uint32_t)(paren - field) : length;
    const char *meant = nearest_word(field, word);
    char known[200] = "", shown[64], hint[32] = "";

    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text && rb_op_info[op].text[0])
            snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s, ", rb_op_info[op].text);
    for (size_t i = 0; i < RB_LENGTH(mark_words); i++)
        snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i ? ", " : "", mark_words[i]);
    if (meant)
        snprintf(hint, sizeof(hint), "did you mean %s? ", meant);
    return rb_bad_input(e, "%s:%" PRIu64 ": unknown operation \"%s\"; %sknown are %s", path, number,
                        rb_std_show(field, word, shown, sizeof(shown)), hint, known);
}

int rb_std_explain(const char *path, uint64_t number, const char *line, uint32_t length, struct rb_error *e)
{
    const char *end = line + length, *first = memchr(line, '|', length), *last = memrchr(line, '|', length);
    char shown[80];
    int32_t location;
    unsigned pipes = 0;

    for (uint32_t i = 0; i < length; i++)
        pipes += line[i] == '|';
    if (pipes < 2)
        return rb_bad_input(e,
                            "%s:%" PRIu64
                            ": \"%s\" has %u of 3 fields; expected THREAD|OPERATION(TARGET)|LOCATION",
                            path, number, rb_std_show(line, length, shown, sizeof(shown)), pipes + 1);
    const char *field = first + 1, *paren = memchr(field, '(', (size_t)(last - field));
    const uint32_t n = (uint32_t)(last - field), word = paren ? (uint32_t)(paren - field) : n;
    const enum rb_op op = op_of_word(field, word);

    if (pipes > 2 && op != RB_ENTER && op != RB_EXIT)
        return rb_bad_input(e, "%s:%" PRIu64 ": \"%s\" has %u fields, expected 3; names cannot contain '|'",
                            path, number, rb_std_show(line, length, shown, sizeof(shown)), pipes + 1);
    if (op == RB_OPS && !rb_std_is_mark(field, word))
        return unknown_op(path, number, field, n, e);
    if (op != RB_OPS && (!paren || last[-1] != ')'))
        return rb_bad_input(e, "%s:%" PRIu64 ": \"%s\": expected a target in parentheses, as in %s(x)", path,
                            number, rb_std_show(field, n, shown, sizeof(shown)), rb_op_info[op].text);
    if (op != RB_OPS && paren + 2 == last)
        return rb_bad_input(e, "%s:%" PRIu64 ": \"%s\": the target has no name", path, number,
                            rb_std_show(field, n, shown, sizeof(shown)));
    if (op == RB_OPS && !rb_std_is_mark(field, n))
        return rb_bad_input(e, "%s:%" PRIu64 ": \"%s\": the closing parenthesis is missing", path, number,
                            rb_std_show(field, n, shown, sizeof(shown)));
    if (!rb_std_location(last + 1, (uint32_t)(end - last - 1), &location))
        return rb_bad_input(e,
                            "%s:%" PRIu64
                            ": location \"%s\": expected a whole number from -2147483648 to 2147483647",
                            path, number,
                            rb_std_show(last + 1, (uint32_t)(end - last - 1), shown, sizeof(shown)));
    return rb_internal(e, "%s:%" PRIu64 ": parser and explanation disagree", path, number);
}
