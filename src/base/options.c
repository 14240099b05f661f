// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/options.h"

enum type {
    TYPE_TEXT,
    TYPE_PATH,
    TYPE_FLAG,
    TYPE_NUMBER,
    TYPE_SIZE,
    TYPE_SHARE,
    TYPE_REPORT,
    TYPE_STATS,
    TYPE_CHOICE
};

struct row {
    enum type type;
    size_t field, json; // offsets in struct rb_options
    uint64_t low, high;
};

#define JSON_TEXT(key)   0
#define JSON_PATH(key)   0
#define JSON_FLAG(key)   0
#define JSON_NUMBER(key) 0
#define JSON_SIZE(key)   0
#define JSON_SHARE(key)  0
#define JSON_REPORT(key) offsetof(struct rb_options, key##_json)
#define JSON_STATS(key)  offsetof(struct rb_options, key##_json)
#define JSON_CHOICE(key) 0

static const struct row rows[RB_OPTIONS] = {
#define RB_OPTION(key, type, standard, low, high, help) \
    {TYPE_##type, offsetof(struct rb_options, key), JSON_##type(key), low, high},
#include "base/options.def"
#undef RB_OPTION
};

const struct rb_option_info rb_option_info[RB_OPTIONS] = {
#define RB_OPTION(key, type, standard, low, high, help) {#key, help},
#include "base/options.def"
#undef RB_OPTION
};

static const char *const choices[RB_OPTIONS][2] = {
    [RB_OPT_unseen] = {"order", "ignore"},
    [RB_OPT_partial] = {"list", "report"},
};

_Static_assert(RB_OPTIONS <= 32, "a bit each in `given`");

void rb_options_init(struct rb_options *o)
{
    static const struct rb_options standard = {
#define RB_OPTION(key, type, standard, low, high, help) .key = standard,
#include "base/options.def"
#undef RB_OPTION
    };
    const char *from = (const char *)&standard;

    for (size_t i = 0; i < sizeof(*o); i++)
        ((volatile char *)o)[i] = from[i]; // volatile: must not become a call of memcpy
}

// ---- slices of text ------------------------------------------------------------------------------------

struct slice {
    const char *text;
    size_t length;
};

static size_t length_of(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    return n;
}

static bool is_word(struct slice s, const char *word)
{
    size_t i = 0;

    while (i < s.length && word[i] && s.text[i] == word[i])
        i++;
    return i == s.length && !word[i];
}

// Removes `word` from the front of s, if it is there.
static bool take_word(struct slice *s, const char *word)
{
    const size_t n = length_of(word);

    if (s->length < n || !is_word((struct slice){s->text, n}, word))
        return false;
    s->text += n;
    s->length -= n;
    return true;
}

static void copy_slice(char *to, struct slice s)
{
    for (size_t i = 0; i < s.length; i++)
        ((volatile char *)to)[i] = s.text[i];
    to[s.length] = 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// ---- complaints ----------------------------------------------------------------------------------------

struct line {
    char text[640];
    size_t used;
};

static void clear_line(struct line *l)
{
    l->used = 0; // not "= {0}", which is a call of memset
    l->text[0] = 0;
}

static void put_slice(struct line *l, struct slice s)
{
    for (size_t i = 0; i < s.length && l->used + 1 < sizeof(l->text); i++) {
        const unsigned char c = (unsigned char)s.text[i];
        l->text[l->used++] = c < ' ' || c == 127 ? '?' : (char)c;
    }
    l->text[l->used] = 0;
}

static void put_text(struct line *l, const char *text)
{
    put_slice(l, (struct slice){text, length_of(text)});
}

static void put_number(struct line *l, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    put_slice(l, (struct slice){digits + at, sizeof(digits) - at});
}

// Puts the user's text, shortened if it is long.
static void put_shortened(struct line *l, struct slice s)
{
    const bool all = s.length <= 60;

    put_slice(l, (struct slice){s.text, all ? s.length : 60});
    if (!all)
        put_text(l, "...");
}

// Puts a size with the largest suffix that leaves no remainder.
static void put_size(struct line *l, uint64_t n)
{
    static const char suffixes[] = {0, 'k', 'M', 'G', 'T'};
    size_t s = 0;

    while (s + 1 < RB_LENGTH(suffixes) && n && n % 1024 == 0) {
        n /= 1024;
        s++;
    }
    put_number(l, n);
    put_slice(l, (struct slice){&suffixes[s], s > 0});
}

// ---- values --------------------------------------------------------------------------------------------

static bool parse_whole(struct slice s, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < s.length; i++)
        if (!is_digit(s.text[i]) || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(s.text[i] - '0'), value))
            return false;
    return s.length > 0;
}

static bool parse_size(struct slice s, uint64_t *value)
{
    static const char suffixes[] = "kKmMgGtT";
    unsigned shift = 0;

    for (unsigned i = 0; s.length && suffixes[i]; i++)
        if (s.text[s.length - 1] == suffixes[i])
            shift = 10 * (i / 2 + 1);
    if (shift)
        s.length--;
    return parse_whole(s, value) && !__builtin_mul_overflow(*value, (uint64_t)1 << shift, value);
}

// Parses a share into millionths. Without a percent sign it is at most 1, so that "5" is refused and not
// taken for 500 %.
static bool parse_share(struct slice s, uint64_t *value)
{
    const bool percent = s.length && s.text[s.length - 1] == '%';
    uint64_t whole = 0, part = 0, unit = 100000000;
    struct slice front = {s.text, 0};
    size_t i;

    s.length -= percent;
    while (front.length < s.length && s.text[front.length] != '.')
        front.length++;
    if (!parse_whole(front, &whole) || whole > 1000000 || front.length + 1 == s.length)
        return false;
    for (i = front.length + 1; i < s.length; i++) {
        if (!is_digit(s.text[i]))
            return false;
        unit /= 10;
        part += unit * (uint64_t)(s.text[i] - '0'); // digits after the eighth do not count
    }
    *value = (whole * 100000000 + part) / (percent ? 10000 : 100);
    return percent || *value <= 1000000;
}

static bool parse_flag(struct slice s, bool *value)
{
    *value = is_word(s, "1") || is_word(s, "true") || is_word(s, "yes");
    return *value || is_word(s, "0") || is_word(s, "false") || is_word(s, "no");
}

// Parses on | off | json:FILE | on,json:FILE.
static bool parse_sink(struct slice s, const char *on_word, const char *off_word, bool *on, char *json)
{
    struct slice rest = s;

    if (is_word(s, off_word) || is_word(s, on_word)) {
        *on = is_word(s, on_word);
        json[0] = 0;
        return true;
    }
    const bool both = take_word(&rest, on_word) && take_word(&rest, ",");
    if (!both)
        rest = s;
    if (!take_word(&rest, "json:") || rest.length == 0 || rest.length >= RB_OPTION_PATH)
        return false;
    *on = both;
    copy_slice(json, rest);
    return true;
}

// Sets one option. If the value is not valid, puts the expected values into `expected`.
static bool set_option(struct rb_options *o, enum rb_option option, struct slice value,
                       const struct rb_options_host *host, struct line *expected)
{
    const struct row *row = &rows[option];
    void *field = (char *)o + row->field;
    char word[64];
    const char *instead;
    uint64_t number;
    bool flag;

    switch (row->type) {
    case TYPE_TEXT:
        if (value.length < row->low || value.length > row->high || value.length >= sizeof(word)) {
            put_text(expected, value.length ? "something shorter" : "a word");
            return false;
        }
        copy_slice(word, value);
        instead = host && host->expected ? host->expected(host->context, option, word) : NULL;
        if (instead) {
            put_text(expected, instead);
            return false;
        }
        copy_slice(field, value);
        break;
    case TYPE_PATH:
        if (value.length >= RB_OPTION_PATH) {
            put_text(expected, "a shorter file name");
            return false;
        }
        copy_slice(field, value);
        break;
    case TYPE_FLAG:
        if (!parse_flag(value, &flag)) {
            put_text(expected, "0 or 1");
            return false;
        }
        *(bool *)field = flag;
        break;
    case TYPE_NUMBER:
        if (!parse_whole(value, &number) || number < row->low || number > row->high) {
            put_text(expected, "a whole number from ");
            put_number(expected, row->low);
            put_text(expected, " to ");
            put_number(expected, row->high);
            return false;
        }
        *(uint64_t *)field = number;
        break;
    case TYPE_SIZE:
        if (!parse_size(value, &number) || number < row->low || number > row->high) {
            put_text(expected, "a size of at least ");
            put_size(expected, row->low);
            put_text(expected, ", as 512k, 64M or 1G");
            return false;
        }
        *(uint64_t *)field = number;
        break;
    case TYPE_SHARE:
        if (!parse_share(value, &number) || number < row->low || number > row->high) {
            put_text(expected, "a share, as 5% or 0.05");
            return false;
        }
        *(uint64_t *)field = number;
        break;
    case TYPE_REPORT:
        if (!parse_sink(value, "text", "none", field, (char *)o + row->json)) {
            put_text(expected, "text, json:FILE, text,json:FILE or none");
            return false;
        }
        break;
    case TYPE_CHOICE:
        if (!is_word(value, choices[option][0]) && !is_word(value, choices[option][1])) {
            put_text(expected, choices[option][0]);
            put_text(expected, " or ");
            put_text(expected, choices[option][1]);
            return false;
        }
        *(uint8_t *)field = is_word(value, choices[option][1]);
        break;
    case TYPE_STATS:
        if (!parse_sink(value, "1", "0", field, (char *)o + row->json)) {
            put_text(expected, "0, 1 or json:FILE");
            return false;
        }
        break;
    }
    o->given |= 1u << option;
    return true;
}

// ---- nearest key ---------------------------------------------------------------------------------------

#define NAME_MOST 24 // a longer name is not near any key

// Returns the number of letters to insert, remove, change or swap with their neighbour to turn a into b.
static unsigned edit_distance(struct slice a, const char *b)
{
    const size_t columns = length_of(b);
    unsigned row[3][NAME_MOST + 1];

    for (size_t j = 0; j <= columns; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.length; i++) {
        unsigned *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned best = up[j - 1] + (a.text[i - 1] != b[j - 1]);

            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a.text[i - 1] == b[j - 2] && a.text[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[a.length % 3][columns];
}

const char *rb_option_nearest(const char *name, size_t length)
{
    const char *nearest = NULL;
    unsigned least = 0;

    for (int i = 0; length <= NAME_MOST && i < RB_OPTIONS; i++) {
        const unsigned d = edit_distance((struct slice){name, length}, rb_option_info[i].name);
        if (!nearest || d < least) {
            nearest = rb_option_info[i].name;
            least = d;
        }
    }
    return nearest && least <= 1 + length / 3 ? nearest : NULL;
}

// ---- pairs ---------------------------------------------------------------------------------------------

static bool is_blank(char c)
{
    return c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

// Returns true if a pair begins here, or the text ends.
static bool is_pair_start(const char *t)
{
    if (!*t)
        return true;
    if (!is_name(*t))
        return false;
    while (is_name(*t))
        t++;
    return *t == '=';
}

// Returns the end of an unquoted value.
static const char *value_end(const char *t, bool tsan)
{
    for (; *t; t++) {
        if (tsan && (is_blank(*t) || *t == ','))
            return t;
        if (is_blank(*t)) {
            const char *next = t;
            while (is_blank(*next))
                next++;
            if (is_pair_start(next))
                return t;
        }
    }
    return t;
}

struct pair {
    struct slice name, value;
    const char *fault; // NULL, or the reason why it is not a pair
};

// Parses the next pair and moves `*text` behind it. Returns false at the end.
static bool next_pair(const char **text, bool tsan, struct pair *p)
{
    const char *t = *text, *open;

    while (is_blank(*t) || (tsan && *t == ','))
        t++;
    if (!*t)
        return false;
    *p = (struct pair){.name = {t, 0}};
    while (*t && *t != '=' && !is_blank(*t) && !(tsan && *t == ','))
        t++;
    p->name.length = (size_t)(t - p->name.text);
    if (*t != '=') {
        p->fault = "expected key=value";
        *text = t;
        return true;
    }
    open = ++t;
    if (*t == '"' || *t == '\'') {
        while (*++t && *t != *open)
            ;
        p->value = (struct slice){open + 1, (size_t)(t - open - 1)};
        if (!*t)
            p->fault = "the quote is not closed";
        else if (*++t && !is_blank(*t) && !(tsan && *t == ',')) {
            p->fault = "expected ':' behind the quote";
            t = value_end(t, tsan);
        }
    } else {
        t = value_end(t, tsan);
        p->value = (struct slice){open, (size_t)(t - open)};
    }
    *text = t;
    return true;
}

static void print_line(const struct rb_options_host *host, const struct line *l)
{
    if (host && host->say)
        host->say(host->context, l->text);
}

static int find_option(struct slice name)
{
    for (int i = 0; i < RB_OPTIONS; i++)
        if (is_word(name, rb_option_info[i].name))
            return i;
    return -1;
}

static void complain_value(const char *source, const struct pair *p, const char *fault,
                           const struct rb_options_host *host)
{
    struct line l;

    clear_line(&l);
    put_text(&l, source);
    put_text(&l, ": ");
    put_shortened(&l, p->name);
    if (p->value.text) {
        put_text(&l, "=");
        put_shortened(&l, p->value);
    }
    put_text(&l, ": ");
    put_text(&l, fault);
    print_line(host, &l);
}

static void complain_key(const char *source, struct slice name, const struct rb_options_host *host)
{
    const char *nearest = rb_option_nearest(name.text, name.length);
    struct line l;

    clear_line(&l);
    put_text(&l, source);
    put_text(&l, ": '");
    put_shortened(&l, name);
    put_text(&l, "' is not an option; ");
    if (nearest) {
        put_text(&l, "did you mean '");
        put_text(&l, nearest);
        put_text(&l, "'?");
    } else {
        put_text(&l, "expected one of:");
        for (int i = 0; i < RB_OPTIONS; i++) {
            put_text(&l, " ");
            put_text(&l, rb_option_info[i].name);
        }
    }
    print_line(host, &l);
}

static bool set_pair(struct rb_options *o, int option, const struct pair *p, const char *source,
                     const struct rb_options_host *host)
{
    struct line fault;

    clear_line(&fault);
    if (!p->fault) {
        put_text(&fault, "expected ");
        if (set_option(o, (enum rb_option)option, p->value, host, &fault))
            return true;
    }
    complain_value(source, p, p->fault ? p->fault : fault.text, host);
    return false;
}

unsigned rb_options_parse(struct rb_options *o, const char *text, const char *source,
                          const struct rb_options_host *host)
{
    unsigned complaints = 0;
    struct pair p;

    while (next_pair(&text, false, &p)) {
        const int option = find_option(p.name);

        if (option < 0 && p.value.text) {
            complain_key(source, p.name, host);
            complaints++;
        } else {
            complaints += !set_pair(o, option, &p, source, host);
        }
    }
    return complaints;
}

unsigned rb_options_parse_tsan(struct rb_options *o, const char *text, const struct rb_options_host *host)
{
    static const enum rb_option shared[] = {RB_OPT_suppressions, RB_OPT_halt_on_error, RB_OPT_exitcode,
                                            RB_OPT_log_path, RB_OPT_atexit_sleep_ms};
    const uint32_t ours = o->given;
    unsigned complaints = 0;
    bool reports = true, flag;
    struct pair p;

    while (next_pair(&text, true, &p)) {
        const int option = find_option(p.name);

        for (size_t i = 0; i < RB_LENGTH(shared); i++)
            if (option == (int)shared[i] && !(ours >> option & 1))
                complaints += !set_pair(o, option, &p, "TSAN_OPTIONS", host);
        if (is_word(p.name, "report_bugs") && parse_flag(p.value, &flag))
            reports = flag;
    }
    if (!reports && !(ours >> RB_OPT_report & 1)) { // then races do not change the exit status either
        o->report = false;
        o->exitcode = ours >> RB_OPT_exitcode & 1 ? o->exitcode : 0;
    }
    o->given = ours; // they are TSan's, not ours: a later rb_options_parse must not count them as given
    return complaints;
}
