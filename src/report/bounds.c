// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds on the texts of a report: UTF-8, JSON values and the names of functions.
#include "report/race_record.h"

#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "…"

// ---- UTF-8 ---------------------------------------------------------------------------------------------

void rb_text_make_ascii(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            text[i] = '?';
}

// Returns how many bytes of a longer text fit in `limit` with an ellipsis, whole characters only.
static size_t text_fit(const char *text, size_t limit)
{
    size_t n = limit > strlen(ELLIPSIS) ? limit - strlen(ELLIPSIS) : 0;

    while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

// Returns a copy of the text in at most `limit` bytes, for free(); NULL when memory is out.
static char *text_cut(const char *text, size_t length, size_t limit)
{
    const bool fits = length <= limit;
    const size_t n = fits ? length : text_fit(text, limit);
    char *copy = malloc(n + sizeof(ELLIPSIS));

    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    strcpy(copy + n, fits ? "" : ELLIPSIS);
    return copy;
}

json_t *rb_json_text(const char *text)
{
    const size_t length = strlen(text);
    char *copy = text_cut(text, length, RB_TEXT_LIMIT);
    json_t *value = copy ? json_string(copy) : NULL;

    if (copy && !value) {
        rb_text_make_ascii(copy, length <= RB_TEXT_LIMIT ? length : text_fit(text, RB_TEXT_LIMIT));
        value = json_string(copy);
    }
    free(copy);
    return value;
}

// ---- JSON ----------------------------------------------------------------------------------------------

static int string_bound(json_t *string)
{
    const size_t length = json_string_length(string);
    char *cut;
    int status;

    if (length <= RB_TEXT_LIMIT)
        return 0;
    cut = text_cut(json_string_value(string), length, RB_TEXT_LIMIT);
    status = cut ? json_string_set(string, cut) : -1;
    free(cut);
    return status;
}

// The depth is bounded by jansson's parser.
int rb_json_bound(json_t *value)
{
    const char *key;
    json_t *member;
    int status = 0;
    size_t i;

    switch (json_typeof(value)) {
    case JSON_STRING:
        return string_bound(value);
    case JSON_ARRAY:
        json_array_foreach(value, i, member)
        {
            status |= rb_json_bound(member);
        }
        return status;
    case JSON_OBJECT:
        json_object_foreach(value, key, member)
        {
            status |= rb_json_bound(member);
        }
        return status;
    default:
        return 0;
    }
}

// ---- function names ------------------------------------------------------------------------------------

// Returns the length of "operator<" and the like at the start of `text`, 0 for anything else. Their angle
// brackets hold no template arguments.
static size_t operator_length(const char *text)
{
    static const char *const signs[] = {"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"};
    const size_t word = strlen("operator");

    if (strncmp(text, "operator", word))
        return 0;
    for (size_t i = 0; i < RB_LENGTH(signs); i++)
        if (!strncmp(text + word, signs[i], strlen(signs[i])))
            return word + strlen(signs[i]);
    return 0;
}

// Writes the name to `out`, which has room for three times its length. Template arguments inside more than
// `depth` others become "…". Returns false if the brackets do not pair.
static bool name_collapse(const char *name, unsigned depth, char *out)
{
    unsigned level = 0;

    while (*name) {
        const size_t whole = operator_length(name);
        const size_t n = whole ? whole : !strncmp(name, "->", 2) ? 2 : 1;
        const bool opens = n == 1 && *name == '<', closes = n == 1 && *name == '>';
        if (closes && !level--)
            return false;
        if (level <= depth) {
            memcpy(out, name, n);
            out += n;
        }
        level += opens;
        if (opens && level == depth + 1) {
            memcpy(out, ELLIPSIS, strlen(ELLIPSIS));
            out += strlen(ELLIPSIS);
        }
        name += n;
    }
    *out = 0;
    return level == 0;
}

char *rb_name_shorten(const char *name, size_t limit)
{
    const size_t length = strlen(name);
    char *shorter, *cut;

    if (length <= limit)
        return strdup(name);
    shorter = malloc(3 * length + 1);
    if (!shorter)
        return NULL;
    for (unsigned depth = 4; depth-- > 0;)
        if (name_collapse(name, depth, shorter) && strlen(shorter) <= limit)
            return shorter;
    if (!name_collapse(name, 0, shorter))
        strcpy(shorter, name);
    cut = text_cut(shorter, strlen(shorter), limit);
    free(shorter);
    return cut;
}
