// Four threads on one SQLite database in a file, each with a connection of its own: look-ups and sums by
// index, a table of the connection's own that is filled and emptied, and every 500th time a transaction on
// the shared table. sqlite FILE [ROUNDS] Prints what was read of rows that nobody changes, which is the same
// in every run.
//
// Memory that was given back stays with the process. Left to itself glibc gives the end of an arena back to
// the kernel and takes it again, a page fault each time, 1,200 to 12,000 of them in a run by chance of who
// meets whom, plain as instrumented: no tool's doing, and more than a budget of 5 % can be told from.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

enum { THREADS = 4, ROWS = 20000 };
static const char *path;
static long rounds = 20000;

static void check(int status, int wanted, sqlite3 *db, const char *what)
{
    if (status == wanted)
        return;
    fprintf(stderr, "%s: %d %s\n", what, status, sqlite3_errmsg(db));
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    check(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, db, sql);
}

static sqlite3 *opened(void)
{
    sqlite3 *db;

    check(sqlite3_open(path, &db), SQLITE_OK, NULL, "open");
    sqlite3_busy_timeout(db, 60000);
    run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY");
    return db;
}

static sqlite3_stmt *prepared(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s;

    check(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK, db, sql);
    return s;
}

static void *work(void *number)
{
    sqlite3 *db = opened();
    long sum = 0, seed = 17 + (long)number;

    run(db, "CREATE TEMP TABLE own(a INTEGER, b TEXT)");
    sqlite3_stmt *look = prepared(db, "SELECT b, length(c) FROM t WHERE a = ?1");
    sqlite3_stmt *total = prepared(db, "SELECT sum(b) FROM t WHERE a BETWEEN ?1 AND ?1 + 20");
    sqlite3_stmt *put = prepared(db, "INSERT INTO own VALUES(?1, 'row ' || ?1)");
    sqlite3_stmt *change = prepared(db, "UPDATE counters SET n = n + 1 WHERE id = ?1");
    for (long i = 0; i < rounds; i++) {
        seed = (seed * 1103515245 + 12345) & 0x7fffffff;
        sqlite3_stmt *read = i % 4 ? look : total;
        sqlite3_bind_int64(read, 1, (seed >> 8) % (ROWS - 30) + 1);
        check(sqlite3_step(read), SQLITE_ROW, db, "read");
        sum += sqlite3_column_int64(read, 0);
        sqlite3_reset(read);
        sqlite3_bind_int64(put, 1, i);
        check(sqlite3_step(put), SQLITE_DONE, db, "put");
        sqlite3_reset(put);
        if (i % 500 == 499) {
            run(db, "DELETE FROM own");
            sqlite3_bind_int64(change, 1, seed % 8);
            check(sqlite3_step(change), SQLITE_DONE, db, "change");
            sqlite3_reset(change);
        }
    }
    sqlite3_finalize(look);
    sqlite3_finalize(total);
    sqlite3_finalize(put);
    sqlite3_finalize(change);
    sqlite3_close(db);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    long sum = 0;

    if (argc < 2)
        return 2;
    path = argv[1];
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (argc > 2)
        rounds = atol(argv[2]);
    sqlite3 *db = opened();
    run(db, "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);"
            "CREATE TABLE counters(id INTEGER PRIMARY KEY, n INTEGER);"
            "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 20000)"
            " INSERT INTO t SELECT i, i * 7919 % 1000, 'some text of row ' || i FROM k;"
            "WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 7)"
            " INSERT INTO counters SELECT i, 0 FROM k");
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(t[i], &part);
        sum += (long)part;
    }
    sqlite3_close(db);
    printf("%ld\n", sum);
    return 0;
}
