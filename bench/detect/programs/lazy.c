// Conversions through tables that are made when first used; a new table is wanted several times in the run.
// Races: nobody or, with CHECKED, only who finds it missing takes the lock; readers take none.
#include "detect.h"

#ifndef CHECKED
#define CHECKED 0
#endif
#ifndef TABLES
#define TABLES 16
#endif
enum { CELLS = 256, LINE = 96 };
unsigned char *racy_table[TABLES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

static unsigned char *make(int which)
{
    unsigned char *racy_new = malloc(CELLS);

    for (int i = 0; i < CELLS; i++)
        racy_new[i] = (unsigned char)(i * 7 + which);
    return racy_new;
}

static const unsigned char *table_of(int which)
{
    if (!racy_table[which]) {
        if (CHECKED)
            pthread_mutex_lock(&mutex);
        if (!CHECKED || !racy_table[which])
            racy_table[which] = make(which);
        if (CHECKED)
            pthread_mutex_unlock(&mutex);
    }
    return racy_table[which];
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned char *line = malloc(LINE), *out = malloc(LINE);
    unsigned random = seed_of(me), sum = 0;
    int last = -1;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        const int which = (int)(i * TABLES / rounds);
        for (int j = 0; j < LINE; j++)
            line[j] = (unsigned char)draw(&random);
        if (which != last)
            meet(THREADS);
        last = which;
        const unsigned char *racy_cells = table_of(which);
        for (int j = 0; j < LINE; j += EVERY ? 1 : LINE)
            out[j] = racy_cells[line[j]];
        for (int j = 0; j < LINE; j++)
            sum = sum * 31 + line[j] + out[j];
        FORGET();
    }
    expect(sum != 0, "lines are not empty");
    free(line);
    free(out);
    return NULL;
}

int main(void)
{
    rounds = work(70000) / THREADS;
    crew(THREADS, body);
    return 0;
}
