// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must be the same with and without stubs: addresses of functions, and the protection of the program's pages. RACE: two
// threads write to data under no lock.
#include "programs/order.h"
#include "unseen/library.h"
#include <dlfcn.h>
#include <string.h>

static char before[20000], behind[20000];
static void (*pointer)(int *) = quiet_unlock;
static int lock;
static long outside RB_APART;

// Reads the lines of the process's maps that name the program.
static void read_maps(char *to, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[5000];

    RB_CHECK(maps);
    while (fgets(line, sizeof(line), maps))
        if (strstr(line, "/addresses_") && strlen(to) + strlen(line) < room)
            strcat(to, line);
    fclose(maps);
}

static void *use(void *unused)
{
    quiet_lock(&lock);
    pointer(&lock);
#ifdef RACE
    outside = 1;
#endif
    rb_reach(1);
    return unused;
}

int main(void)
{
    pthread_t t;
    int word = 0;

    read_maps(before, sizeof(before));
    quiet_lock(&word);
    RB_CHECK(pthread_create(&t, NULL, use, NULL) == 0);
    read_maps(behind, sizeof(behind));
    quiet_unlock(&word);
    rb_await(1);
#ifdef RACE
    outside = 2;
#endif
    RB_CHECK(pthread_join(t, NULL) == 0);
    RB_CHECK(before[0] && !strcmp(before, behind));
    RB_CHECK(dlsym(RTLD_DEFAULT, "quiet_lock") == (void *)quiet_lock);
    RB_CHECK(dlsym(RTLD_DEFAULT, "quiet_unlock") == (void *)pointer && pointer == quiet_unlock);
    outside++;
    puts("done");
    return 0;
}
