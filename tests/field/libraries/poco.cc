// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libpoco-dev
// Flags: -std=c++17 -lPocoFoundation
// POCO: queues of notifications, pools of threads, events, active methods, locks, and counted objects that the last holder frees.
#include "planted.h"
#include <Poco/ActiveMethod.h>
#include <Poco/AutoPtr.h>
#include <Poco/Condition.h>
#include <Poco/Event.h>
#include <Poco/Mutex.h>
#include <Poco/NotificationQueue.h>
#include <Poco/RWLock.h>
#include <Poco/RefCountedObject.h>
#include <Poco/RunnableAdapter.h>
#include <Poco/Semaphore.h>
#include <Poco/ThreadPool.h>
#include <Poco/Timer.h>
#include <cstdio>
#include <functional>

enum { COUNT = 300 };

static void use(int)
{
    Poco::FastMutex own;
    Poco::FastMutex::ScopedLock locked(own);
}

struct Message : Poco::Notification {
    long number;
    explicit Message(long number) : number(number)
    {
    }
};

struct Counted : Poco::RefCountedObject {
    long value = 0, *sum;
    explicit Counted(long *sum) : sum(sum)
    {
    }
    ~Counted() override
    {
        *sum += value;
    }
};

struct Work : Poco::Runnable {
    std::function<void()> function;
    explicit Work(std::function<void()> function) : function(std::move(function))
    {
    }
    void run() override
    {
        function();
    }
};

struct Active {
    Poco::ActiveMethod<long, long *, Active> twice{this, &Active::run};
    long run(long *const &block)
    {
        *block *= 2;
        return *block;
    }
};

struct OnTimer {
    Poco::Event event;
    long *block = nullptr;
    void run(Poco::Timer &timer)
    {
        *block += 1;
        timer.restart(0);
        event.set();
    }
};

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    Poco::NotificationQueue queue;
    Poco::ThreadPool pool(3, 6);
    Poco::Mutex mutex;
    Poco::RWLock rwlock;
    Poco::Semaphore free_places(4, 4), used_places(0, 4);
    long guarded = 0, under_rwlock = 0, ringed = 0, ring[4], sum = 0, counted = 0;
    auto lock_all = [&](int me) {
        for (int i = 0; i < COUNT; i++) {
            {
                Poco::Mutex::ScopedLock locked(mutex);
                guarded++;
            }
            {
                Poco::ScopedWriteRWLock writing(rwlock);
                under_rwlock++;
            }
            if (me) {
                free_places.wait();
                ring[i % 4] = i;
                used_places.set();
            } else {
                used_places.wait();
                ringed += ring[i % 4];
                free_places.set();
            }
        }
    };
    Work zero([&] { lock_all(0); }), one([&] { lock_all(1); }), sender([&] {
        for (int i = 0; i < COUNT; i++)
            queue.enqueueNotification(new Message(i));
    });
    pool.start(zero);
    pool.start(one);
    pool.start(sender);
    for (int i = 0; i < COUNT; i++) {
        Poco::AutoPtr<Poco::Notification> message(queue.waitDequeueNotification());
        sum += static_cast<Message *>(message.get())->number;
    }
    pool.joinAll();

    for (int i = 0; i < 30; i++) {
        Poco::AutoPtr<Counted> object(new Counted(&counted)), second(object);
        Work reset([&] {
            object->value = i;
            object.reset();
        });
        Work other([&] { second.reset(); });
        pool.start(reset);
        pool.start(other);
        pool.joinAll();
    }
    Active active;
    long block = 21, handed = 0, seen = 0;
    Poco::ActiveResult<long> result = active.twice(&block);
    result.wait();
    sum += result.data() + block;
    Poco::Event start, end;
    Work waiter([&] {
        start.wait();
        seen = handed;
        end.set();
    });
    pool.start(waiter);
    handed = 4;
    start.set();
    end.wait();
    sum += seen;
    pool.joinAll();
    OnTimer on_timer;
    on_timer.block = &block;
    Poco::Timer timer(1, 1000);
    timer.start(Poco::TimerCallback<OnTimer>(on_timer, &OnTimer::run));
    on_timer.event.wait();
    sum += block;
    timer.stop();
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", guarded, under_rwlock, ringed, sum, counted);
    return 0;
}
