// The functions that make another program of the process, or of a child: what they hand on may have to go
// without our libraries (preload.h). In the middle of a program they are called rarely; in a shell below
// `railbird run` they are all there is.
//
// They may be called in a child of fork, so room is taken on the stack.
#include "rt/intercept.h"
#include "rt/preload.h"
#include "rt/signals.h"

extern char **environ;

RB_INTERCEPT(int, execve, (const char *path, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(path, false, environment);

    if (!room)
        return RB_REAL(execve)(path, words, environment);
    void *space = __builtin_alloca(room);
    return RB_REAL(execve)(path, words, rb_preload_drop(environment, space));
}

RB_INTERCEPT(int, execv, (const char *path, char *const words[]))
{
    const size_t room = rb_preload_room(path, false, environ);

    if (!room)
        return RB_REAL(execv)(path, words);
    void *space = __builtin_alloca(room);
    return RB_REAL(execve)(path, words, rb_preload_drop(environ, space));
}

RB_INTERCEPT(int, execvpe, (const char *file, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(file, true, environment);

    if (!room)
        return RB_REAL(execvpe)(file, words, environment);
    void *space = __builtin_alloca(room);
    return RB_REAL(execvpe)(file, words, rb_preload_drop(environment, space));
}

RB_INTERCEPT(int, execvp, (const char *file, char *const words[]))
{
    const size_t room = rb_preload_room(file, true, environ);

    if (!room)
        return RB_REAL(execvp)(file, words);
    void *space = __builtin_alloca(room);
    return RB_REAL(execvpe)(file, words, rb_preload_drop(environ, space));
}

// ---- words as arguments --------------------------------------------------------------------------------

static size_t count_words(const char *first, va_list list)
{
    size_t n = 1;

    for (const char *w = first; w; w = va_arg(list, const char *))
        n++;
    return n;
}

static void take_words(const char **words, const char *first, va_list list)
{
    for (const char *w = first; w; w = va_arg(list, const char *))
        *words++ = w;
    *words = NULL;
}

RB_INTERCEPT(int, execl, (const char *path, const char *first, ...))
{
    va_list list;

    va_start(list, first);
    const char **words = __builtin_alloca(count_words(first, list) * sizeof(*words));
    va_end(list);
    va_start(list, first);
    take_words(words, first, list);
    va_end(list);
    return execv(path, (char *const *)(uintptr_t)words);
}

RB_INTERCEPT(int, execlp, (const char *file, const char *first, ...))
{
    va_list list;

    va_start(list, first);
    const char **words = __builtin_alloca(count_words(first, list) * sizeof(*words));
    va_end(list);
    va_start(list, first);
    take_words(words, first, list);
    va_end(list);
    return execvp(file, (char *const *)(uintptr_t)words);
}

RB_INTERCEPT(int, execle, (const char *path, const char *first, ...))
{
    va_list list;

    va_start(list, first);
    const char **words = __builtin_alloca(count_words(first, list) * sizeof(*words));
    va_end(list);
    va_start(list, first);
    take_words(words, first, list);
    va_end(list);
    va_start(list, first);
    for (const char *w = first; w; w = va_arg(list, const char *))
        ;
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, (char *const *)(uintptr_t)words, environment);
}

// ---- children ------------------------------------------------------------------------------------------

RB_INTERCEPT(int, posix_spawn,
             (pid_t * p, const char *path, const posix_spawn_file_actions_t *does, const posix_spawnattr_t *a,
              char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(path, false, environment);

    rb_before_child();
    if (!room)
        return RB_REAL(posix_spawn)(p, path, does, a, words, environment);
    void *space = __builtin_alloca(room);
    return RB_REAL(posix_spawn)(p, path, does, a, words, rb_preload_drop(environment, space));
}

RB_INTERCEPT(int, posix_spawnp,
             (pid_t * p, const char *file, const posix_spawn_file_actions_t *does, const posix_spawnattr_t *a,
              char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(file, true, environment);

    rb_before_child();
    if (!room)
        return RB_REAL(posix_spawnp)(p, file, does, a, words, environment);
    void *space = __builtin_alloca(room);
    return RB_REAL(posix_spawnp)(p, file, does, a, words, rb_preload_drop(environment, space));
}
