#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Libraries that threads open and close all at once, each with constructors, destructors, objects and a library of its
# own: no race is reported. And dlopen finds what it finds without the runtime, which goes by the module that calls it.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD LD_LIBRARY_PATH

cat >inner.cpp <<'C'
#include <string>
#include <vector>
static std::vector<std::string> words(8, std::string(40, 'w'));
static long calls;
__attribute__((constructor)) static void begin() { calls = 1; }
__attribute__((destructor)) static void end() { calls = 0; }
extern "C" void inner(int n) { words[n & 7] += 'x', calls += n; }
C
cat >outer.cpp <<'C'
#include <cstdlib>
#include <map>
extern "C" void inner(int n);
static std::map<int, long> sums;
static void at_end() { inner(1); }
struct thing { thing() { inner(2), sums[2] = 2; } ~thing() { inner(3); } };
static thing object;
__attribute__((constructor)) static void begin() { std::atexit(at_end), inner(4); }
extern "C" void outer(int n) { static thing late; inner(n), sums[n & 15] += n; }
C
cat >many.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int rounds;
static void *use(void *seed)
{
    unsigned at = (unsigned)(size_t)seed;
    for (int i = 0; i < rounds; i++) {
        const int which = rand_r(&at) & 1;
        void *library = dlopen(which ? "./libalone.so" : "./libouter.so", RTLD_NOW);
        void (*function)(int) = library ? (void (*)(int))dlsym(library, which ? "inner" : "outer") : NULL;
        if (!function)
            abort();
        pthread_mutex_lock(&mutex);
        function((int)(rand_r(&at) & 255));
        pthread_mutex_unlock(&mutex);
        if (rand_r(&at) & 3)
            dlclose(library);
    }
    return NULL;
}
int main(int count, char **words)
{
    pthread_t thread[4];
    rounds = count > 1 ? atoi(words[1]) : 100;
    for (size_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, use, (void *)(i + 1));
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    return puts("done") < 0;
}
C
cat >caller.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
const char *found(const char *name);
const char *found(const char *name)
{
    static char text[99];
    void *library = dlopen(name, RTLD_NOW);
    const char *(*which)(void) = library ? (const char *(*)(void))dlsym(library, "which") : NULL;
    snprintf(text, sizeof(text), "%s", which ? which() : "nothing");
    return text;
}
C
cat >calls.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
const char *found(const char *name);
int main(void)
{
    static const char *const names[] = {"far.so", "$ORIGIN/deep/far.so", "near.so", "./near.so", "none.so"};
    for (int i = 0; i < 5; i++)
        printf("%s: %s, %s\n", names[i], found(names[i]), dlopen(names[i], RTLD_NOW) ? "here too" : "not here");
    return 0;
}
C
echo 'const char *which(void) { return PLACE; }' >which.c

# build WAY COMPILE LINK FOLDER: everything, in the folder
build() {
  local cc=$1 cxx=$2 to=$3
  mkdir -p "$to/sub/deep"
  $cxx -g -O1 -shared -fPIC inner.cpp -o "$to/libinner.so"
  # A copy for those who call it directly: outer's constructors call inner without the mutex, which would be a race.
  cp "$to/libinner.so" "$to/libalone.so"
  # shellcheck disable=SC2016 # for the loader
  $cxx -g -O1 -shared -fPIC outer.cpp -o "$to/libouter.so" -L"$to" -linner -Wl,-rpath,'$ORIGIN'
  $cc -g -O1 many.c -o "$to/many" -ldl -pthread
  gcc -DPLACE='"deep"' -shared -fPIC which.c -o "$to/sub/deep/far.so"
  gcc -DPLACE='"beside"' -shared -fPIC which.c -o "$to/near.so"
  # shellcheck disable=SC2016
  $cc -g -shared -fPIC caller.c -o "$to/sub/libcaller.so" -Wl,-rpath,'$ORIGIN/deep'
  # shellcheck disable=SC2016
  $cc -g calls.c -o "$to/calls" -L"$to/sub" -lcaller -ldl -Wl,-rpath,'$ORIGIN/sub:$ORIGIN'
}

# runs STATUS FOLDER COMMAND...: in the folder; what it prints is in ../out
runs() {
  local want=$1 folder=$2 got=0
  shift 2
  (cd "$folder" && timeout 100 "$@" >../out 2>../err) || got=$?
  [ "$got" = "$want" ] || fail "$folder: $*: status $got instead of $want: $(head -c 600 err)"
}

if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  finish "libraries, skipped: no runtime"
  exit 0
fi
build gcc g++ plain
build "$RAILBIRD cc" "$RAILBIRD c++" ours
runs 0 plain ./calls
cp out wanted
grep -q 'far.so: deep, ' wanted || fail "what dlopen finds does not depend on its caller: $(cat wanted)"
runs 0 ours ./calls
expect "what dlopen finds" "$(cat out)" "$(cat wanted)"
for options in sampler=all sampler=all sampler=adaptive sampler=random:0.5; do
  RAILBIRD_OPTIONS=$options runs 0 ours ./many 60
  expect "races with $options" "$(grep -c WARNING err || true)" 0
done

if gcc -fsanitize=thread calls.c -shared -fPIC -o theirs.so 2>/dev/null; then
  build "gcc -fsanitize=thread" "g++ -fsanitize=thread" theirs
  runs 0 theirs "$RAILBIRD" run ./calls
  expect "what dlopen finds below run" "$(cat out)" "$(cat wanted)"
  runs 0 theirs "$RAILBIRD" run -o sampler=all ./many 60
fi
finish "libraries"
