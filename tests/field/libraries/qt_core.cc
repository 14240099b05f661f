// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: qtbase5-dev
// Flags: -fPIC $(pkg-config --cflags --libs Qt5Core)
// Qt Core: its locks, semaphores and wait conditions (on futexes), threads, signals queued to an object of another thread,
// pools of threads, shared data copied on write, and event loops.
#include "planted.h"
#include <QtCore/QCoreApplication>
#include <QtCore/QMutex>
#include <QtCore/QQueue>
#include <QtCore/QReadWriteLock>
#include <QtCore/QRunnable>
#include <QtCore/QSemaphore>
#include <QtCore/QThread>
#include <QtCore/QThreadPool>
#include <QtCore/QTimer>
#include <QtCore/QWaitCondition>
#include <cstdio>

enum { COUNT = 500 };

static void use(int)
{
    QMutex own;
    QMutexLocker locked(&own);
    QSemaphore semaphore(1);
    semaphore.acquire();
}

// A ring guarded by two semaphores alone, as in Qt's own example.
static int ring[16];
static QSemaphore free_places(16), used_places;
static long consumed;

static void produce()
{
    for (int i = 0; i < COUNT; i++) {
        free_places.acquire();
        ring[i % 16] = i;
        used_places.release();
    }
}

static void consume()
{
    for (int i = 0; i < COUNT; i++) {
        used_places.acquire();
        consumed += ring[i % 16];
        free_places.release();
    }
}

static QMutex mutex;
static QRecursiveMutex recursive;
static QReadWriteLock rwlock;
static QWaitCondition turned;
static int turn;
static long guarded, under_recursive, under_rwlock;

static void take_turns(int me)
{
    for (int i = 0; i < COUNT; i++) {
        mutex.lock();
        while (turn != me)
            turned.wait(&mutex);
        guarded++;
        turn = !turn;
        turned.wakeAll();
        mutex.unlock();
        {
            recursive.lock();
            under_recursive++;
            recursive.unlock();
        }
        {
            QWriteLocker writing(&rwlock);
            under_rwlock++;
        }
        QReadLocker reading(&rwlock);
        if (under_rwlock < 0)
            guarded = 0;
    }
}

struct Add : QRunnable {
    long *sum;
    QMutex *lock;
    Add(long *sum, QMutex *lock) : sum(sum), lock(lock)
    {
    }
    void run() override
    {
        QMutexLocker locked(lock);
        ++*sum;
    }
};

struct Message {
    QString text;
    int number;
};

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    planted_start(argc, argv, use);
    QThread *threads[] = {QThread::create(produce), QThread::create(consume),
                          QThread::create([] { take_turns(0); }), QThread::create([] { take_turns(1); })};
    for (QThread *t : threads)
        t->start();

    // Slots of `receiver` run in its thread; arguments travel in events.
    QThread loop;
    QObject receiver, sender;
    long received = 0;
    receiver.moveToThread(&loop);
    loop.start();
    for (int i = 0; i < COUNT; i++) {
        Message *message = new Message{QString::number(i), i};
        QMetaObject::invokeMethod(
            &receiver,
            [message, &received] {
                received += message->number + message->text.size();
                delete message;
            },
            Qt::QueuedConnection);
    }
    QObject::connect(&sender, &QObject::objectNameChanged, &receiver,
                     [&](const QString &name) { received += name.size(); });
    sender.setObjectName("four");
    QMetaObject::invokeMethod(
        &receiver, [&] { received++; }, Qt::BlockingQueuedConnection);
    long seen = received;
    loop.quit();
    loop.wait();

    long pooled = 0;
    QMutex pool_lock;
    QThreadPool pool;
    pool.setMaxThreadCount(3);
    for (int i = 0; i < COUNT; i++)
        pool.start(new Add(&pooled, &pool_lock));
    long *block = new long(5);
    pool.start([block] { *block *= 2; });
    pool.waitForDone();
    pooled += *block;
    delete block;
    for (QThread *t : threads) {
        t->wait();
        delete t;
    }
    planted_end();
    printf("%ld %ld %ld %ld %ld %ld %ld\n", consumed, guarded, under_recursive, under_rwlock, seen, received,
           pooled);
    return 0;
}
