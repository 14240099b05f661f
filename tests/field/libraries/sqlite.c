// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libsqlite3-dev
// Flags: -lsqlite3
// SQLite in serialized mode: threads that share one connection, with a function of the program's own, a hook, destructors of
// bound blocks, and SQLite's own mutex in the program's hands.
#include "planted.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100, THREADS = 3 };
static sqlite3 *db;
static long called, hooked, destroyed, guarded;

static void use(int thread)
{
    sqlite3_mutex *own = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
    (void)thread;
    sqlite3_mutex_enter(own);
    sqlite3_mutex_leave(own);
    sqlite3_mutex_free(own);
}

// The connection's mutex is held while it calls the program.
static void count_call(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    long *calls = sqlite3_user_data(context);
    ++*calls;
    sqlite3_result_int64(context, sqlite3_value_int64(values[0]) * 2);
}

static void on_update(void *data, int kind, const char *database, const char *table, sqlite3_int64 row)
{
    (void)kind;
    (void)database;
    (void)table;
    (void)row;
    ++*(long *)data;
}

static void destroy(void *block)
{
    destroyed += ((char *)block)[0];
    free(block);
}

static void *run(void *argument)
{
    long thread = (long)argument;
    sqlite3_stmt *insert, *select;
    sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?, twice(?), ?)", -1, &insert, NULL);
    for (int i = 0; i < COUNT; i++) {
        char *block = malloc(64);
        memset(block, 1, 64);
        sqlite3_bind_int64(insert, 1, thread * COUNT + i);
        sqlite3_bind_int64(insert, 2, i);
        sqlite3_mutex_enter(sqlite3_db_mutex(db));
        sqlite3_bind_blob(insert, 3, block, 64, destroy);
        sqlite3_step(insert);
        sqlite3_reset(insert);
        sqlite3_clear_bindings(insert);
        guarded++;
        sqlite3_mutex_leave(sqlite3_db_mutex(db));
        if (i % 10 == 0) {
            sqlite3_prepare_v2(db, "SELECT sum(twice(a)) FROM t", -1, &select, NULL);
            sqlite3_step(select);
            sqlite3_finalize(select);
        }
    }
    sqlite3_finalize(insert);
    return NULL;
}

static int print_row(void *unused, int count, char **values, char **names)
{
    (void)unused;
    (void)count;
    (void)names;
    printf("%s %s ", values[0], values[1]);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                    NULL);
    sqlite3_exec(db, "CREATE TABLE t(a INTEGER PRIMARY KEY, b, c)", NULL, NULL, NULL);
    sqlite3_create_function(db, "twice", 1, SQLITE_UTF8, &called, count_call, NULL, NULL);
    sqlite3_update_hook(db, on_update, &hooked);
    planted_start(argc, argv, use);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sqlite3_exec(db, "SELECT count(*), sum(b) FROM t", print_row, NULL, NULL);
    planted_end();
    sqlite3_close(db);
    printf("%d %ld %ld %ld\n", called >= THREADS * COUNT, hooked, destroyed, guarded);
    return 0;
}
