// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: qtbase5-dev
// Flags: -fPIC $(pkg-config --cflags --libs Qt5Concurrent)
// Known: .*should(Throttle|StartThread|ThrottleThread).* -- Qt 5 reads resultsMapSize there without its mutex: a race of its
// Qt Concurrent: futures, watchers, map, filter and reduction, and containers shared until somebody writes.
#include "planted.h"
#include <QtConcurrent/QtConcurrent>
#include <QtCore/QCoreApplication>
#include <QtCore/QFutureSynchronizer>
#include <QtCore/QFutureWatcher>
#include <QtCore/QSharedPointer>
#include <cstdio>

static void use(int)
{
    QVector<int> own(10), copy = own;
    copy[0] = 1;
    QSharedPointer<int> pointer(new int(1)), second = pointer;
}

struct Part {
    int number;
    long square;
};

// Each thread changes its own copy of a shared vector; the last owner frees the block.
static long change_copies()
{
    QVector<long> shared(200, 1);
    QFutureSynchronizer<void> all;
    std::atomic<long> sum{0};
    for (int t = 0; t < 4; t++) {
        QVector<long> copy = shared;
        all.addFuture(QtConcurrent::run([copy, t, &sum]() mutable {
            for (long &x : copy)
                x += t;
            sum += std::accumulate(copy.begin(), copy.end(), 0L);
        }));
    }
    shared.clear();
    all.waitForFinished();
    return sum;
}

static long share_pointers()
{
    long deleted = 0;
    for (int i = 0; i < 50; i++) {
        QSharedPointer<Part> part(new Part{i, 0}, [&deleted](Part *p) {
            deleted += p->square + p->number;
            delete p;
        });
        QFuture<void> one = QtConcurrent::run([part] { part->square = (long)part->number * part->number; });
        part.reset();
        one.waitForFinished();
    }
    QThreadPool::globalInstance()->waitForDone();
    return deleted;
}

int main(int argc, char **argv)
{
    QCoreApplication application(argc, argv);
    QThreadPool::globalInstance()->setMaxThreadCount(4);
    planted_start(argc, argv, use);

    QFuture<Part *> made = QtConcurrent::run([] { return new Part{7, 49}; });
    Part *part = made.result();
    long sum = part->square;
    delete part;

    QVector<Part> parts;
    for (int i = 0; i < 1000; i++)
        parts.append({i, 0});
    QtConcurrent::blockingMap(parts, [](Part &p) { p.square = (long)p.number * p.number; });
    for (const Part &p : parts)
        sum += p.square;
    std::function<QString(const Part &)> text = [](const Part &p) { return QString::number(p.square); };
    for (const QString &s : QtConcurrent::blockingMapped<QStringList>(parts, text))
        sum += s.size();
    std::function<long(const Part &)> take = [](const Part &p) { return p.square; };
    sum += QtConcurrent::blockingMappedReduced<long>(parts, take,
                                                     [](long &total, const long &x) { total += x; });

    QFutureWatcher<QVector<int>> watcher;
    long watched = 0;
    QObject::connect(&watcher, &QFutureWatcher<QVector<int>>::finished, [&] {
        for (int x : watcher.result())
            watched += x;
        application.quit();
    });
    watcher.setFuture(QtConcurrent::run([] { return QVector<int>(100, 3); }));
    application.exec();

    long copies = change_copies(), pointers = share_pointers();
    planted_end();
    printf("%ld %ld %ld %ld\n", sum, watched, copies, pointers);
    return 0;
}
