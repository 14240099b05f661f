// Threads work on strips of one grid, with a barrier after each sweep. `race`: from the fifth sweep on, every eighth has strips that are a row
// too long; the row's two users are a whole sweep apart, thousands of accesses of hot code.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, WIDTH = 96, STRIP = 8, SWEEPS = 4000 };
float grid[THREADS * STRIP + 1][WIDTH];
static pthread_barrier_t barrier;
static int race;

static void relax(int y, float *old)
{
    for (int x = 0; x < WIDTH; x++)
        old[x] = grid[y][x];
    for (int x = 1; x < WIDTH - 1; x++)
        grid[y][x] = (old[x - 1] + old[x] + old[x + 1]) / 3;
}

static void *body(void *number)
{
    const long me = (long)number;
    float *old = malloc(WIDTH * sizeof(float));

    for (long i = 0; i < SWEEPS; i++) {
        const int rows = race && i % 8 == 4 ? STRIP + 1 : STRIP;
        for (int r = 0; r < rows; r++)
            relax((int)me * STRIP + r, old);
        pthread_barrier_wait(&barrier);
    }
    free(old);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];

    race = argc > 1 && strcmp(argv[1], "race") == 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
