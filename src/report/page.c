// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- text ----------------------------------------------------------------------------------------------

// Returns the bytes of the well-formed UTF-8 character at `s` (no overlong forms, no surrogates), or 0.
static size_t utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;

    if (n < 2)
        return n;
    uint32_t c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

#define REPLACEMENT "\xef\xbf\xbd"

char *rb_utf8(const char *text)
{
    char *clean = malloc(strlen(text) * (sizeof(REPLACEMENT) - 1) + 1), *to = clean;

    if (!clean)
        return NULL;
    while (*text) {
        const size_t n = utf8_length((const unsigned char *)text);
        to = n ? mempcpy(to, text, n) : mempcpy(to, REPLACEMENT, sizeof(REPLACEMENT) - 1);
        text += n ? n : 1;
    }
    *to = 0;
    return clean;
}

bool rb_html_special(FILE *out, char c)
{
    const char *entity = c == '<'    ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '&'  ? "&amp;"
                         : c == '"'  ? "&quot;"
                         : c == '\'' ? "&#39;"
                                     : NULL;

    if (entity)
        fputs(entity, out);
    return entity != NULL;
}

void rb_html_text(FILE *out, const char *text)
{
    while (*text) {
        const unsigned char c = (unsigned char)*text;
        const size_t n = utf8_length((const unsigned char *)text);
        if (!n || c < ' ' || c == 0x7f)
            fputs(REPLACEMENT, out);
        else if (!rb_html_special(out, *text))
            fwrite(text, 1, n, out);
        text += n ? n : 1;
    }
}

// ---- frame ---------------------------------------------------------------------------------------------

// Colours of paper and ink, light and dark, and the text of every page.
static const char base_style[] =
    ":root{color-scheme:light dark;--bg:#fdfdfb;--ink:#1c1f22;--muted:#5a6168;--line:#d8dbde;--soft:#f1f2ef}"
    "\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e5e7e9;--muted:#a1a9b0;--line:#363c42;"
    "--soft:#1e2327}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:0 0 .4rem}\n"
    "p{margin:.2rem 0 .6rem}.muted{color:var(--muted)}\n";

// The colours of series c0..c7 are Okabe and Ito's, which any kind of colour vision can tell apart. The
// second set has the same hues for a dark page. Marks differ in shape as well, and bars carry their names.
static const char plot_style[] =
    ":root{--c0:#1c1f22;--c1:#d55e00;--c2:#b8578e;--c3:#008a65;--c4:#0072b2;--c5:#b37a00;--c6:#2f8fc4;"
    "--c7:#777}\n"
    "@media (prefers-color-scheme:dark){:root{--c0:#e5e7e9;--c1:#f08340;--c2:#e39bc6;--c3:#38c79b;"
    "--c4:#56aee6;--c5:#e8b23a;--c6:#8fd0f5;--c7:#9a9a9a}}\n"
    "body{max-width:80rem}p{max-width:50rem}\n"
    "h2{font-size:1.2rem;line-height:1.3;margin:3rem 0 .3rem;padding-top:.8rem;border-top:2px solid "
    "var(--ink);"
    "overflow-wrap:anywhere}\n"
    "h3{font-size:1rem;margin:2rem 0 .3rem}\n"
    "a{color:inherit}\n"
    "figcaption p,.legend{color:var(--muted)}\n"
    "nav ul{columns:18rem;padding-left:1.2rem;overflow-wrap:anywhere}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}\n"
    "dt{font-weight:600}dd{margin:0;max-width:46rem}\n"
    "summary{cursor:pointer}\n"
    ".plots{columns:2 25rem;column-gap:2.5rem;margin:1rem 0}.plots figure{padding-bottom:1.5rem}\n"
    ".plots.small{columns:auto;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),"
    "1fr));"
    "gap:0 1.5rem}\n"
    "figure{margin:0;break-inside:avoid}\n"
    "figcaption{margin-bottom:.3rem}figcaption b{display:block}figcaption p{margin:0;font-size:.87rem}\n"
    "svg.plot{display:block;width:100%;max-width:34rem;height:auto;overflow:visible;"
    "font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
    ".small svg.plot{max-width:20rem}\n"
    "svg text{fill:var(--ink)}svg .tick{fill:var(--muted);font-size:11px}svg .name{font-weight:600}\n"
    "svg .halo{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}\n"
    "svg .grid{stroke:var(--line);stroke-width:1}svg .axis{stroke:var(--muted);stroke-width:1}\n"
    "svg .ref{stroke:var(--muted);stroke-dasharray:3 3}svg .lead{stroke:var(--muted);stroke-width:.7}\n"
    "svg .error{stroke:var(--ink);stroke-width:1;opacity:.65}\n"
    ".c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}"
    ".c5{--c:var(--c5)}.c6{--c:var(--c6)}.c7{--c:var(--c7)}\n"
    ".bar{fill:var(--c)}.mark{fill:var(--c);stroke:var(--bg);stroke-width:1}\n"
    ".hollow{fill:var(--bg);stroke:var(--c);stroke-width:2}.line{fill:none;stroke:var(--c);stroke-width:1.8}"
    "\n"
    "svg .series{fill:var(--c)}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;list-style:none;margin:.2rem 0 0;padding:0;"
    "font-size:.87rem}.legend svg{width:14px;height:14px;vertical-align:-2px;margin-right:.3em}\n"
    ".scroll{overflow-x:auto;margin:1rem 0}\n"
    "table{border-collapse:collapse;font-size:.76rem;font-variant-numeric:tabular-nums;line-height:1.25;"
    "width:100%}\n"
    "caption{text-align:left;color:var(--muted);padding-bottom:.4rem;font-size:.87rem}\n"
    "caption span{position:sticky;left:0;display:inline-block;max-width:calc(100vw - 2rem)}\n"
    "th,td{padding:.2rem .25rem;text-align:right;vertical-align:top;white-space:nowrap}\n"
    "thead th{vertical-align:bottom;white-space:normal;font-weight:600;font-size:.95em;border-bottom:1px "
    "solid var(--ink)}\n"
    "thead tr:first-child th{border-bottom:1px solid var(--line);text-align:center;color:var(--muted)}\n"
    "thead tr:first-child th:empty{border:0}\n"
    "tbody{border-bottom:1px solid var(--line)}\n"
    "tbody th,thead .key,thead .engine{text-align:left;position:sticky;left:0;background:var(--bg)}\n"
    "th.key{min-width:7.2rem;max-width:7.2rem;white-space:normal;overflow-wrap:anywhere}\n"
    "tbody th.engine,thead .engine{left:7.2rem}tbody th.engine{font-weight:400}\n"
    ".scroll tbody tr:hover td,.scroll tbody tr:hover .engine,.base td,.base "
    ".engine{background:var(--soft)}\n"
    "td small{display:block;color:var(--muted);font-size:.9em}\n"
    ".first{border-left:1px solid var(--line)}\n"
    ":focus-visible{outline:2px solid var(--c4);outline-offset:2px}\n"
    "@media print{@page{size:A4 landscape;margin:12mm}:root{color-scheme:light;--bg:#fff;--ink:#000;"
    "--muted:#444;--line:#bbb;--soft:#eee;--c0:#000;--c1:#d55e00;--c2:#b8578e;--c3:#008a65;--c4:#0072b2}"
    "html{font-size:10px}body{max-width:none;padding:0;font-size:1.1rem}h2{margin-top:1rem}.plots{columns:4 "
    "auto;column-gap:1.2rem}"
    "summary{list-style:none}.scroll{overflow:visible}table{font-size:8px}"
    "th,td{padding:.1rem "
    ".2rem}tr{break-inside:avoid}h2,h3{break-after:avoid}nav{display:none}section+section{break-before:page}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

void rb_html_begin_styled(FILE *out, const struct rb_html_head *head)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
    if (head->policy)
        fprintf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", head->policy);
    fprintf(out,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"generator\" content=\"railbird%s%s\">\n<title>",
            head->version ? " " : "", head->version ? head->version : "");
    rb_html_text(out, head->title);
    fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", base_style, head->style);
}

void rb_html_begin(FILE *out, const char *title)
{
    const struct rb_html_head head = {.title = title, .style = plot_style};

    rb_html_begin_styled(out, &head);
}

void rb_html_end(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}

// ---- file ----------------------------------------------------------------------------------------------

// Finds the file that the page replaces: through a link, the file it names. A device or a folder is
// refused, because the rename would replace it.
static int resolve_path(const char *option, const char *path, char **real, struct rb_error *e)
{
    struct stat st;

    *real = NULL;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return rb_bad_input(e, "%s %s: not a regular file", option, path);
        *real = realpath(path, NULL);
    } else if (errno == ENOENT && *path) {
        *real = strdup(path);
    }
    if (!*real)
        return rb_bad_input(e, "%s %s: cannot write: %m", option, path);
    return 0;
}

// Creates a new file in the folder of `real` and puts its name into *name. Returns its descriptor.
static int create_beside(const char *option, const char *path, const char *real, char **name,
                         struct rb_error *e)
{
    const char *slash = strrchr(real, '/');
    int fd;

    if (asprintf(name, "%.*s.railbird-XXXXXX", slash ? (int)(slash - real + 1) : 0, real) < 0) {
        *name = NULL;
        return rb_internal(e, "out of memory");
    }
    fd = mkostemp(*name, O_CLOEXEC);
    if (fd < 0) {
        free(*name);
        *name = NULL;
        return rb_bad_input(e, "%s %s: cannot write: %m", option, path);
    }
    return fd;
}

int rb_html_check(const char *option, const char *path, struct rb_error *e)
{
    char *real, *name = NULL;
    int status = resolve_path(option, path, &real, e);

    if (status == 0)
        status = create_beside(option, path, real, &name, e);
    if (status >= 0) {
        close(status);
        unlink(name);
        status = 0;
    }
    free(name);
    free(real);
    return status;
}

int rb_html_write(const char *option, const char *path, void (*fill)(FILE *out, void *context), void *context,
                  struct rb_error *e)
{
    char *real, *name = NULL;
    FILE *out = NULL;
    int fd = -1, status = resolve_path(option, path, &real, e);

    if (status == 0)
        status = fd = create_beside(option, path, real, &name, e);
    if (fd < 0)
        goto done;
    const mode_t mask = umask(0);
    umask(mask);
    out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        status = rb_internal(e, "%s %s: %m", option, path);
        goto done;
    }
    fill(out, context);
    const bool bad = fchmod(fd, 0666 & ~mask) < 0 || fflush(out) == EOF || ferror(out) || fsync(fd) < 0;
    status = 0;
    if (bad | (fclose(out) == EOF) || rename(name, real) < 0)
        status = rb_bad_input(e, "%s %s: write failed: %m", option, path);
done:
    if (status < 0 && name)
        unlink(name);
    free(name);
    free(real);
    return status;
}
