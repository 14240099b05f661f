// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libfontconfig-dev fonts-dejavu-core
// Flags: $(pkg-config --cflags --libs fontconfig)
// Fontconfig, safe for threads since 2.10.91: threads that match with one configuration, each with its own patterns, and patterns
// and character sets whose reference counts several threads change. Blocks of the program's own follow the last reference.
#include "planted.h"
#include <fontconfig/fontconfig.h>
#include <stdio.h>

enum { ROUNDS = 20 };
static FcConfig *config;

static int match(const char *name)
{
    FcResult result;
    FcPattern *wanted = FcNameParse((const FcChar8 *)name);
    FcChar8 *family = NULL;
    int found = 0;
    FcConfigSubstitute(config, wanted, FcMatchPattern);
    FcDefaultSubstitute(wanted);
    FcPattern *font = FcFontMatch(config, wanted, &result);
    if (font && FcPatternGetString(font, FC_FAMILY, 0, &family) == FcResultMatch)
        found = strlen((char *)family) > 0;
    if (font)
        FcPatternDestroy(font);
    FcPatternDestroy(wanted);
    return found;
}

static void use(int thread)
{
    FcPattern *own = FcPatternCreate();
    FcPatternAddInteger(own, FC_WEIGHT, thread);
    FcPatternDestroy(own);
}

static FcPattern *shared[ROUNDS];

static void *match_all(void *unused)
{
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int weight = 0;
        sum += match(i % 2 ? "monospace:bold" : "sans");
        FcPatternGetInteger(shared[i], FC_WEIGHT, 0, &weight);
        sum += weight;
        FcPatternDestroy(shared[i]); // the last of the two frees it
    }
    (void)unused;
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    long sum = 0;
    config = FcInitLoadConfigAndFonts();
    planted_start(argc, argv, use);
    for (int i = 0; i < ROUNDS; i++) {
        shared[i] = FcPatternCreate();
        FcPatternAddInteger(shared[i], FC_WEIGHT, i);
        FcPatternReference(shared[i]);
        FcPatternReference(shared[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, match_all, NULL);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    planted_end();
    FcConfigDestroy(config);
    FcFini();
    printf("%ld\n", sum);
    return 0;
}
