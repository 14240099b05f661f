#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs linked with gcc's libtsan, run by railbird: what they ask of it without a version must be there, and must be
# what libc's newest version does, not its oldest: conditions of another layout, calls with other parameters.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(run)
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")

cat >names.c <<'C'
#define _GNU_SOURCE
#include <glob.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition, turn;
static int steps;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    printf("failed: %s\n", what);
    exit(3);
}
#define CHECK(condition) check((condition) ? 1 : 0, #condition)

static void *step(void *unused)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        while (steps % 2 == 0)
            pthread_cond_wait(&condition, &mutex);
        steps++;
        pthread_cond_broadcast(&turn);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void at_end(void)
{
    puts("at the end");
}

int main(void)
{
    char text[] = "one\ntwo\n", line[8];
    char *words[] = {"true", NULL};
    pthread_t thread;
    cpu_set_t set;
    regmatch_t match[1] = {{1, 6}};
    regex_t regex;
    glob_t found;
    pid_t child;
    int status;

    CHECK(atexit(at_end) == 0);
    CHECK(pthread_cond_init(&condition, NULL) == 0 && pthread_cond_init(&turn, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, step, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        while (steps % 2)
            pthread_cond_wait(&turn, &mutex);
        steps++;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    CHECK(pthread_join(thread, NULL) == 0 && steps == 200);
    CHECK(pthread_cond_destroy(&condition) == 0 && pthread_cond_destroy(&turn) == 0);

    CPU_ZERO(&set);
    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0);
    CPU_ZERO(&set);
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0);
    CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(regcomp(&regex, "b+", REG_EXTENDED) == 0);
    CHECK(regexec(&regex, "abbbbbx", 1, match, REG_STARTEND) == 0 && match[0].rm_so == 1 && match[0].rm_eo == 6);
    regfree(&regex);
    CHECK(glob("/*", 0, NULL, &found) == 0 && found.gl_pathc > 1);
    globfree(&found);
    FILE *stream = fmemopen(text, strlen(text), "rb");
    CHECK(stream && fgets(line, sizeof(line), stream) && !strcmp(line, "one\n"));
    fclose(stream);
    puts("done");
    return 0;
}
C
if [ ! -e "$lib/librailbird_rt.a" ] || ! gcc -O1 -g -fsanitize=thread names.c -o names 2>/dev/null; then
  finish "names of libtsan, skipped: no runtime, or no libtsan"
  exit 0
fi
nm -D names | grep -q ' U pthread_cond_init$' || fail "libtsan has versions by now: this tests nothing"
for _ in 1 2 3; do
  run 0 ./names
  expect "what it prints" "$(tr '\n' ' ' <out)" "done at the end "
done

# What libtsan defines and nothing else does: a program that asks for one would not start.
nm -D --defined-only "$(gcc -print-file-name=libtsan.so)" | awk '{ print $3 }' | sed 's/@.*//' | sort -u >theirs
for file in "$lib/librailbird_rt.so" "$(gcc -print-file-name=libc.so.6)" "$(gcc -print-file-name=libm.so.6)" \
  "$(gcc -print-file-name=libstdc++.so.6)" "$(gcc -print-file-name=ld-linux-x86-64.so.2)"; do
  [ ! -e "$file" ] || nm -D --defined-only "$file"
done | awk '{ print $3 }' | sed 's/@.*//' | sort -u >ours
# Not for programs: their own parts, what programs define for them, other tools' hooks, libraries of their own.
missing=$(comm -23 theirs ours | grep -Ev '^(_Z|__asan_|__ubsan_|_*interceptor|__sancov_|xdr|crypt|__isoc99_)' |
  grep -Ev '^__sanitizer_(cov|weak_hook|internal|dump)_|^__sanitizer_(malloc_hook|free_hook|on_print|report_error_summary)$' |
  grep -Ev '^__tsan_(on_report|symbolize_external|symbolize_external_ex|test_only_on_fork|default_.*)$' |
  grep -Ev '^(_edata|_end|__bss_start|sigsetjmp|__libc_memalign|__res_iclose|_init|_fini)$' || true)
expect "names that only libtsan has" "$missing" ""
# What it intercepts it also has by other names. Those that the runtime intercepts as well are there.
nm -D --defined-only "$lib/librailbird_rt.so" | awk '{ print $3 }' | sort -u >runtime
sed -n 's/^__interceptor_//p' theirs | sort -u | comm -12 - runtime | sed 's/^/__interceptor_/' | comm -23 - runtime >missing
expect "other names of what is intercepted" "$(cat missing)" ""

# A program's own allocator that calls them: its blocks are known, and memory that another thread gets is new.
cat >own.c <<'C'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t count, size_t size);
void *__interceptor_realloc(void *block, size_t size);
void __interceptor_free(void *block);
ssize_t __interceptor_read(int fd, void *to, size_t n);
static long calls;

void *malloc(size_t size) { return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED), __interceptor_malloc(size); }
void *calloc(size_t count, size_t size) { return __interceptor_calloc(count, size); }
void *realloc(void *block, size_t size) { return __interceptor_realloc(block, size); }
void free(void *block) { __interceptor_free(block); }

static volatile char *kept;
static void *use(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        volatile char *block = malloc(100);
        block[i % 100] = 1;
        free((void *)block);
    }
    if (kept)
        kept[0] = 1;
    return unused;
}
int main(int count, char **words)
{
    pthread_t thread[2];
    char byte;
    int ends[2];

    (void)words;
    if (pipe(ends) || write(ends[1], "x", 1) != 1 || __interceptor_read(ends[0], &byte, 1) != 1 || byte != 'x')
        return 3;
    kept = count > 1 ? malloc(10) : NULL;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    free((void *)kept);
    return calls < 2000;
}
C
gcc -O1 -g -fsanitize=thread own.c -o own
run 0 -o sampler=all ./own
run 66 -o sampler=all ./own race
grep -q "heap block of size 10" err || fail "the program's own allocator hides the block: $(head -c 600 err)"
"$RAILBIRD" cc -O1 -g own.c -o own
for want in "0 ./own" "66 ./own race"; do
  got=0
  # shellcheck disable=SC2086 # several words
  RAILBIRD_OPTIONS=sampler=all ${want#* } >out 2>err || got=$?
  expect "status of $want" "$got" "${want%% *}"
done
finish "names of libtsan"
