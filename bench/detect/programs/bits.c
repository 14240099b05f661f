// A simulation of cells in private grids; summaries of regions are bits in shared words. Races: two threads
// set different bits of the same word.
#include "detect.h"

enum { SIDE = 32, REGIONS = 64 };
struct region {
    unsigned racy_seen : 1;
    unsigned racy_dirty : 1;
    unsigned kind : 6;
};
struct grid {
    unsigned char cell[SIDE][SIDE], next[SIDE][SIDE];
};
struct region regions[REGIONS];
static long rounds;

static unsigned step(struct grid *g, int y)
{
    unsigned alive = 0;
    const int up = (y + SIDE - 1) % SIDE, down = (y + 1) % SIDE;

    for (int x = 0; x < SIDE; x++) {
        const int l = (x + SIDE - 1) % SIDE, r = (x + 1) % SIDE;
        const int n = g->cell[up][x] + g->cell[down][x] + g->cell[y][l] + g->cell[y][r];
        g->next[y][x] = (unsigned char)(n == 2 || (n == 3 && g->cell[y][x]));
        alive += g->next[y][x];
    }
    return alive;
}

static void mark(long me, struct region *r)
{
    if (me % 2)
        r->racy_seen = 1;
    else
        r->racy_dirty = 1;
}

static void *body(void *number)
{
    const long me = (long)number;
    struct grid *g = calloc(1, sizeof(*g));
    unsigned random = seed_of(me);
    unsigned long alive = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        if (i % (SIDE * 16) == 0)
            for (int k = 0; k < SIDE * SIDE; k++)
                g->cell[k / SIDE][k % SIDE] = draw(&random) % 2;
        alive += step(g, (int)(i % SIDE));
        FORGET();
        if (i % SIDE == SIDE - 1)
            memcpy(g->cell, g->next, sizeof(g->cell));
        if (is_due(me, i, rounds)) {
            together(THREADS);
            mark(me, &regions[i / (EVERY ? EVERY : 1) % REGIONS]);
        }
    }
    expect(alive > 0, "something lived");
    free(g);
    return NULL;
}

int main(void)
{
    rounds = work(200000) / THREADS;
    crew(THREADS, body);
    return 0;
}
