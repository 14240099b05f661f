// Threads relax strips of one grid, a row each time, with buffers of their own; a barrier at the end of each
// sweep. Races: strips are a row too long, in every sweep or only in those of every so many.
#include "detect.h"

enum { WIDTH = 96, STRIP = 8 };
float racy_grid[THREADS * STRIP + 1][WIDTH];
static pthread_barrier_t barrier;
static long sweeps;

static void relax(int y, float *old)
{
    for (int x = 0; x < WIDTH; x++)
        old[x] = racy_grid[y][x];
    for (int x = 1; x < WIDTH - 1; x++)
        racy_grid[y][x] = (old[x - 1] + old[x] + old[x + 1]) / 3;
}

static void *body(void *number)
{
    const long me = (long)number;
    float *old = malloc(WIDTH * sizeof(float));

    for (long i = 0; i < sweeps; i++) {
        const int rows = is_due(0, i, sweeps) ? STRIP + 1 : STRIP;
        for (int r = 0; r < rows; r++) {
            think(sweeps * STRIP);
            relax((int)me * STRIP + r, old);
        }
        pthread_barrier_wait(&barrier);
    }
    free(old);
    return NULL;
}

int main(void)
{
    sweeps = work(90000) / (THREADS * STRIP);
    for (int y = 0; y < THREADS * STRIP; y++)
        for (int x = 0; x < WIDTH; x++)
            racy_grid[y][x] = (float)(x * y % 17);
    pthread_barrier_init(&barrier, NULL, THREADS);
    crew(THREADS, body);
    expect(racy_grid[0][0] == 0, "margins stay");
    return 0;
}
