// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libcurl4-gnutls-dev
// Flags: $(pkg-config --cflags --libs libcurl)
// libcurl: threads with easy handles of their own and a share handle, whose locks the program gives; a multi handle that another
// thread wakes; a resolver in a thread. Transfers are of file:// alone.
#include "planted.h"
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRANSFERS = 20 };
static pthread_mutex_t locks[CURL_LOCK_DATA_LAST];
static char url[100];
static CURLSH *share;
static CURLM *multi;

static void lock(CURL *handle, curl_lock_data data, curl_lock_access access, void *unused)
{
    (void)handle;
    (void)access;
    (void)unused;
    pthread_mutex_lock(&locks[data]);
}

static void unlock(CURL *handle, curl_lock_data data, void *unused)
{
    (void)handle;
    (void)unused;
    pthread_mutex_unlock(&locks[data]);
}

static size_t add(char *data, size_t size, size_t count, void *sum)
{
    for (size_t i = 0; i < size * count; i++)
        *(long *)sum += data[i];
    return size * count;
}

static CURL *easy(const char *of, long *sum)
{
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, of);
    curl_easy_setopt(curl, CURLOPT_SHARE, share);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, sum);
    return curl;
}

static void use(int thread)
{
    long sum = thread;
    CURL *own = easy(url, &sum);
    curl_easy_setopt(own, CURLOPT_SHARE, NULL);
    curl_easy_cleanup(own);
}

static void *transfer(void *sum)
{
    for (int i = 0; i < TRANSFERS; i++) {
        CURL *curl = easy(url, sum);
        curl_easy_perform(curl);
        curl_easy_cleanup(curl);
    }
    return NULL;
}

static void *wake(void *unused)
{
    usleep(20000);
    curl_multi_wakeup(multi);
    return unused;
}

int main(int argc, char **argv)
{
    char name[] = "/tmp/fieldXXXXXX";
    pthread_t threads[3], waker;
    long sums[3] = {0}, resolved = 0, all = 0;
    int running = 1, ready = 0;
    FILE *file = fdopen(mkstemp(name), "w");
    for (int i = 0; i < 1000; i++)
        fprintf(file, "line %d\n", i);
    fclose(file);
    snprintf(url, sizeof url, "file://%s", name);
    for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
        pthread_mutex_init(&locks[i], NULL);
    curl_global_init(CURL_GLOBAL_ALL);
    share = curl_share_init();
    curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock);
    curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock);
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
    planted_start(argc, argv, use);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, transfer, &sums[i]);

    multi = curl_multi_init();
    pthread_create(&waker, NULL, wake, NULL);
    curl_multi_poll(multi, NULL, 0, 10000, &ready);
    CURL *refused = easy("http://localhost:1/", &resolved); // resolved in a thread, then refused
    curl_multi_add_handle(multi, refused);
    while (running) {
        curl_multi_perform(multi, &running);
        if (running)
            curl_multi_poll(multi, NULL, 0, 100, &ready);
    }
    curl_multi_remove_handle(multi, refused);
    curl_easy_cleanup(refused);
    pthread_join(waker, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        all += sums[i];
    }
    curl_multi_cleanup(multi);
    planted_end();
    curl_share_cleanup(share);
    unlink(name);
    printf("%ld %ld\n", all, resolved);
    return 0;
}
