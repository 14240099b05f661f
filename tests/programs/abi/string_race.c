/*
 * Functions of string.h read and write on behalf of their callers.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

struct text {
    char text[16];
};

RB_APART struct text length, from, to, compared, found, pointed, limited;
enum { TOUCHED = 2 };

static void first(void)
{
    length.text[TOUCHED] = 'x';   /* RACE 1 */
    from.text[TOUCHED] = 'x';     /* RACE 3 */
    to.text[TOUCHED] = 'x';       /* RACE 5 */
    compared.text[TOUCHED] = 'x'; /* RACE 7 */
    found.text[TOUCHED] = 'x';    /* RACE 9 */
    pointed.text[TOUCHED] = 'x';  /* RACE 11 */
    limited.text[TOUCHED] = 'x';  /* RACE 13 */
    rb_reach(1);
}

static void second(void)
{
    char local[64] = "";
    size_t sum = 0;

    rb_await(1);
    sum += strlen(length.text);                       /* RACE 2 */
    strcpy(local, from.text);                         /* RACE 4 */
    strcpy(to.text, "ab12");                          /* RACE 6 */
    sum += (size_t)strcmp(compared.text, "abx12");    /* RACE 8 */
    sum += (size_t)strchr(found.text, '2');           /* RACE 10 */
    sum += (size_t)memchr(pointed.text, '2', 8);      /* RACE 12 */
    sum += (size_t)strncmp(limited.text, "abx12", 4); /* RACE 14 */
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
