// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libxml2-dev
// Flags: $(pkg-config --cflags --libs libxml-2.0)
// libxml2: its own mutexes, a dictionary that documents of several threads share, documents handed over whole, and callbacks of
// its parser in each thread.
#include "planted.h"
#include <libxml/parser.h>
#include <libxml/threads.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 50 };
static xmlMutexPtr mutex;
static xmlRMutexPtr recursive;
static xmlDictPtr dict;
static xmlDocPtr handed[COUNT];
static long under_mutex, under_recursive;
static int filled;

static void use(int thread)
{
    xmlMutexPtr own = xmlNewMutex();
    (void)thread;
    xmlMutexLock(own);
    xmlMutexUnlock(own);
    xmlFreeMutex(own);
}

static void *make_documents(void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        char text[100];
        long *block = malloc(sizeof *block);
        snprintf(text, sizeof text, "<a><b n='%d'>text</b></a>", i);
        xmlDictReference(dict);
        xmlDocPtr document = xmlReadMemory(text, (int)strlen(text), "a.xml", NULL, 0);
        *block = i;
        xmlDocGetRootElement(document)->_private = block;
        xmlMutexLock(mutex);
        handed[filled++] = document;
        under_mutex++;
        xmlMutexUnlock(mutex);
        xmlRMutexLock(recursive);
        under_recursive++;
        xmlRMutexUnlock(recursive);
        xmlDictFree(dict);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t maker;
    long sum = 0;
    xmlInitParser();
    mutex = xmlNewMutex();
    recursive = xmlNewRMutex();
    dict = xmlDictCreate();
    planted_start(argc, argv, use);
    pthread_create(&maker, NULL, make_documents, NULL);
    for (int taken = 0; taken < COUNT;) {
        xmlMutexLock(mutex);
        xmlDocPtr document = taken < filled ? handed[taken] : NULL;
        xmlMutexUnlock(mutex);
        xmlRMutexLock(recursive);
        under_recursive += document != NULL;
        xmlRMutexUnlock(recursive);
        if (!document) {
            usleep(100);
            continue;
        }
        xmlNodePtr root = xmlDocGetRootElement(document);
        sum += *(long *)root->_private;
        free(root->_private);
        xmlFreeDoc(document);
        taken++;
    }
    pthread_join(maker, NULL);
    planted_end();
    xmlDictFree(dict);
    xmlFreeMutex(mutex);
    xmlFreeRMutex(recursive);
    xmlCleanupParser();
    printf("%ld %ld %ld\n", sum, under_mutex, under_recursive);
    return 0;
}
