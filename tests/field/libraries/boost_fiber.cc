// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libboost-fiber-dev libboost-context-dev
// Flags: -std=c++17 -lboost_fiber -lboost_context
// Boost.Fiber: fibers of three threads that share work, and hand blocks over by channels, futures, and locks of fibers, which
// spin on words of their own.
#include "planted.h"
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;
enum { COUNT = 300 };

static void use(int)
{
    fibers::mutex own;
    std::unique_lock<fibers::mutex> locked(own);
}

static fibers::mutex mutex;
static fibers::condition_variable turned;
static long guarded;
static int turn;

static void take_turns(int me)
{
    for (int i = 0; i < COUNT; i++) {
        std::unique_lock<fibers::mutex> locked(mutex);
        turned.wait(locked, [me] { return turn == me; });
        guarded++;
        turn = !turn;
        turned.notify_all();
    }
}

// Fibers of all threads are in one queue; a fiber goes on in any of them.
static long share_work()
{
    static const int threads = 3;
    fibers::barrier start(threads), end(threads);
    long parts[20] = {0}, sum = 0;
    auto work = [&] {
        fibers::use_scheduling_algorithm<fibers::algo::shared_work>();
        start.wait();
        end.wait();
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; t++)
        others.emplace_back(work);
    fibers::use_scheduling_algorithm<fibers::algo::shared_work>();
    std::vector<fibers::fiber> all;
    for (long &part : parts)
        all.emplace_back([&part] {
            for (int i = 0; i < 20; i++) {
                part += i;
                boost::this_fiber::yield();
            }
        });
    start.wait();
    for (fibers::fiber &fiber : all)
        fiber.join();
    end.wait();
    for (std::thread &thread : others)
        thread.join();
    for (long part : parts)
        sum += part;
    return sum;
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    std::thread a(take_turns, 0), b(take_turns, 1);

    fibers::buffered_channel<std::shared_ptr<long>> buffered(16);
    fibers::unbuffered_channel<std::shared_ptr<long>> unbuffered;
    std::thread producer([&] {
        for (int i = 0; i < COUNT; i++) {
            buffered.push(std::make_shared<long>(i));
            unbuffered.push(std::make_shared<long>(2 * i));
        }
        buffered.close();
        unbuffered.close();
    });
    long taken = 0;
    std::shared_ptr<long> one, two;
    while (buffered.pop(one) == fibers::channel_op_status::success &&
           unbuffered.pop(two) == fibers::channel_op_status::success)
        taken += *one + *two;
    producer.join();

    long futures = 0;
    for (int i = 0; i < 50; i++) {
        fibers::promise<std::shared_ptr<long>> promise;
        fibers::future<std::shared_ptr<long>> future = promise.get_future();
        std::thread setter([&] { promise.set_value(std::make_shared<long>(i)); });
        futures += *future.get();
        setter.join();
    }
    a.join();
    b.join();
    long shared = share_work();
    planted_end();
    printf("%ld %ld %ld %ld\n", guarded, taken, futures, shared);
    return 0;
}
