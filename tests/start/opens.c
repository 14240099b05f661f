// A program without instrumentation that opens the library named, works, closes it and ends.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : NULL;

    if (!work) {
        printf("%s\n", dlerror());
        return 3;
    }
    work();
    dlclose(library);
    printf("done\n");
    return 0;
}
