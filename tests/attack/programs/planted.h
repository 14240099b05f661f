// For the programs of this folder: the race that `race` as the last argument plants, and checks.
#ifndef PLANTED_H
#define PLANTED_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int planted;

static void *plant(void *unused)
{
    planted++;
    return unused;
}

// Two threads write the same without order, if the last argument asks for it.
static inline void plant_race(int argc, char **argv)
{
    pthread_t thread[2];

    if (argc < 2 || strcmp(argv[argc - 1], "race"))
        return;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, plant, NULL))
            exit(4);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

static inline void must(int holds, const char *what)
{
    if (holds)
        return;
    printf("failed: %s\n", what);
    fflush(stdout);
    _Exit(3);
}
#define MUST(condition) must((condition) ? 1 : 0, #condition)

struct way {
    const char *name;
    void (*run)(void);
};

// Runs the way that the first argument names, or lists all for `-l`; then the planted race.
static inline int run_way(const struct way *ways, int count, int argc, char **argv)
{
    for (int i = 0; i < count; i++) {
        if (argc < 2 || !strcmp(argv[1], "-l")) {
            puts(ways[i].name);
        } else if (!strcmp(argv[1], ways[i].name)) {
            ways[i].run();
            plant_race(argc, argv);
            puts("done");
            return 0;
        }
    }
    return argc > 1 && !strcmp(argv[1], "-l") ? 0 : 2;
}

#endif
