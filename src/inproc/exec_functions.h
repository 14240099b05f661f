// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that make another program of the process, or of a child. The environment that they hand on
// may have to go without our libraries (preload.c). In most programs they are called rarely; a shell below
// `railbird run` calls little else.
//
// They may be called in a child of fork, so room is taken on the stack.
//
// Included once by the runtime and once by the agent, with nothing in front of it but these macros:
//   RB_EXEC_FUNCTION(ret, name, params)   begins the definition that stands before libc's
//   RB_EXEC_REAL(name)                    libc's
//   RB_EXEC_ITSELF()                      runs before the process becomes another program
//   RB_EXEC_CHILD()                       runs before a child becomes one
extern char **environ;

RB_EXEC_FUNCTION(int, execve, (const char *path, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(path, false, environment);

    RB_EXEC_ITSELF();
    if (!room)
        return RB_EXEC_REAL(execve)(path, words, environment);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(execve)(path, words, rb_preload_drop(environment, space));
}

RB_EXEC_FUNCTION(int, execv, (const char *path, char *const words[]))
{
    const size_t room = rb_preload_room(path, false, environ);

    RB_EXEC_ITSELF();
    if (!room)
        return RB_EXEC_REAL(execv)(path, words);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(execve)(path, words, rb_preload_drop(environ, space));
}

RB_EXEC_FUNCTION(int, execvpe, (const char *file, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(file, true, environment);

    RB_EXEC_ITSELF();
    if (!room)
        return RB_EXEC_REAL(execvpe)(file, words, environment);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(execvpe)(file, words, rb_preload_drop(environment, space));
}

RB_EXEC_FUNCTION(int, execvp, (const char *file, char *const words[]))
{
    const size_t room = rb_preload_room(file, true, environ);

    RB_EXEC_ITSELF();
    if (!room)
        return RB_EXEC_REAL(execvp)(file, words);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(execvpe)(file, words, rb_preload_drop(environ, space));
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

RB_EXEC_FUNCTION(int, execl, (const char *path, const char *first, ...))
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

RB_EXEC_FUNCTION(int, execlp, (const char *file, const char *first, ...))
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

RB_EXEC_FUNCTION(int, execle, (const char *path, const char *first, ...))
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

RB_EXEC_FUNCTION(int, posix_spawn,
                 (pid_t * p, const char *path, const posix_spawn_file_actions_t *does,
                  const posix_spawnattr_t *a, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(path, false, environment);

    RB_EXEC_CHILD();
    if (!room)
        return RB_EXEC_REAL(posix_spawn)(p, path, does, a, words, environment);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(posix_spawn)(p, path, does, a, words, rb_preload_drop(environment, space));
}

RB_EXEC_FUNCTION(int, posix_spawnp,
                 (pid_t * p, const char *file, const posix_spawn_file_actions_t *does,
                  const posix_spawnattr_t *a, char *const words[], char *const environment[]))
{
    const size_t room = rb_preload_room(file, true, environment);

    RB_EXEC_CHILD();
    if (!room)
        return RB_EXEC_REAL(posix_spawnp)(p, file, does, a, words, environment);
    void *space = __builtin_alloca(room);
    return RB_EXEC_REAL(posix_spawnp)(p, file, does, a, words, rb_preload_drop(environment, space));
}
