/*
 * Functions of string.h read no further than the terminator or the difference, whatever is behind it.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

struct text {
    char text[16];
};

RB_APART struct text length, from, to, compared, found, pointed, limited;
enum { TOUCHED = 12 };

static void first(void)
{
    length.text[TOUCHED] = 'x';
    from.text[TOUCHED] = 'x';
    to.text[TOUCHED] = 'x';
    compared.text[TOUCHED] = 'x';
    found.text[TOUCHED] = 'x';
    pointed.text[TOUCHED] = 'x';
    limited.text[TOUCHED] = 'x';
    rb_reach(1);
}

static void second(void)
{
    char local[64] = "";
    size_t sum = 0;

    rb_await(1);
    sum += strlen(length.text);
    strcpy(local, from.text);
    strcpy(to.text, "ab12");
    sum += (size_t)strcmp(compared.text, "abx12");
    sum += (size_t)strchr(found.text, '2');
    sum += (size_t)memchr(pointed.text, '2', 8);
    sum += (size_t)strncmp(limited.text, "abx12", 4);
    rb_use(sum);
    rb_escape(local);
}

int main(void)
{
    struct text *all[] = {&length, &from, &to, &compared, &found, &pointed, &limited};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        strcpy(all[i]->text, "abx12");
    return rb_both(first, second);
}
