// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libboost-thread-dev libboost-chrono-dev libboost-system-dev
// Flags: -std=c++17 -DBOOST_THREAD_VERSION=4 -lboost_thread -lboost_chrono -lboost_system
// Boost.Thread: locks, conditions, barriers, futures with continuations, one-time calls, thread-local values with a cleaner,
// interruption, and its synchronized queue.
#include "planted.h"
#include <boost/thread/barrier.hpp>
#include <boost/thread/concurrent_queues/sync_queue.hpp>
#include <boost/thread/future.hpp>
#include <boost/thread/latch.hpp>
#include <boost/thread/once.hpp>
#include <boost/thread/shared_mutex.hpp>
#include <boost/thread/thread.hpp>
#include <boost/thread/tss.hpp>
#include <cstdio>
#include <memory>

enum { COUNT = 300 };

static void use(int)
{
    boost::shared_mutex own;
    boost::unique_lock<boost::shared_mutex> locked(own);
}

static boost::once_flag once = BOOST_ONCE_INIT;
static boost::shared_mutex shared;
static boost::upgrade_mutex upgrade;
static boost::barrier meet(2);
static long once_value, under_shared, under_upgrade, cleaned, parts[2];
static boost::thread_specific_ptr<long> own_value([](long *value) { // of one thread after the other
    boost::unique_lock<boost::shared_mutex> locked(shared);
    cleaned += *value;
    delete value;
});

static void lock_all(int me)
{
    boost::call_once(once, [] { once_value = 6; });
    own_value.reset(new long(me + once_value));
    parts[me] = me;
    meet.wait();
    if (parts[!me] != !me)
        abort();
    for (int i = 0; i < COUNT; i++) {
        {
            boost::unique_lock<boost::shared_mutex> writing(shared);
            under_shared++;
        }
        {
            boost::shared_lock<boost::shared_mutex> reading(shared);
            if (under_shared < 0)
                abort();
        }
        boost::upgrade_lock<boost::upgrade_mutex> reading(upgrade);
        boost::upgrade_to_unique_lock<boost::upgrade_mutex> writing(reading);
        under_upgrade++;
    }
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    boost::thread a(lock_all, 0), b(lock_all, 1);

    boost::sync_queue<std::unique_ptr<long>> queue;
    boost::thread producer([&] {
        for (int i = 0; i < COUNT; i++)
            queue.push(std::make_unique<long>(i));
        queue.close();
    });
    long taken = 0;
    std::unique_ptr<long> item;
    while (queue.wait_pull(item) == boost::concurrent::queue_op_status::success)
        taken += *item;

    long futures = 0;
    for (int i = 0; i < 30; i++) {
        boost::promise<std::unique_ptr<long>> promise;
        boost::future<std::unique_ptr<long>> future = promise.get_future();
        boost::thread setter([&promise, i] { promise.set_value(std::make_unique<long>(i)); });
        futures += *future.get();
        setter.join();
        boost::future<long> next =
            boost::async(boost::launch::async, [i] {
                return std::make_shared<long>(i);
            }).then([](boost::future<std::shared_ptr<long>> f) { return *f.get() * 2; });
        futures += next.get();
    }

    long handed = 0, seen = 0;
    boost::latch latch(1);
    boost::thread waiter([&] {
        {
            boost::this_thread::disable_interruption kept; // the wait would be interrupted as well
            latch.wait();
        }
        seen = handed;
        try {
            for (;;)
                boost::this_thread::sleep_for(boost::chrono::seconds(10));
        } catch (const boost::thread_interrupted &) {
            seen += handed;
        }
    });
    handed = 4;
    latch.count_down();
    waiter.interrupt();
    waiter.join();
    a.join();
    b.join();
    producer.join();
    planted_end();
    printf("%ld %ld %ld %ld %ld %ld\n", under_shared, under_upgrade, cleaned, taken, futures, seen);
    return 0;
}
