// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libstdc++-12-dev
// Flags: -std=c++20
// Known: std::ctype<char>::narrow.* -- a cache in a shared facet, filled without synchronization: GCC bug 77704
// libstdc++: exceptions that threads hand on, futures, shared pointers and their free functions, locales, regular expressions,
// one-time calls, pools of memory, semaphores, latches, barriers, and stop tokens.
#include "planted.h"
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <future>
#include <latch>
#include <locale>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <regex>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stop_token>
#include <thread>
#include <vector>

enum { ROUNDS = 30 };

static void use(int)
{
    std::exception_ptr own = std::make_exception_ptr(1);
    std::locale copy = std::locale();
    std::regex expression("a*b");
}

struct Failure {
    long number;
    long *destroyed;
    Failure(long number, long *destroyed) : number(number), destroyed(destroyed)
    {
    }
    Failure(const Failure &) = default;
    ~Failure()
    {
        *destroyed += number;
    }
};

// Two threads hold one exception; the last one's release destroys it.
static long hand_on_exceptions()
{
    long seen = 0, destroyed = 0;
    for (int i = 0; i < ROUNDS; i++) {
        std::promise<void> promise;
        std::future<void> future = promise.get_future();
        std::thread thrower([&promise, i, &destroyed] {
            try {
                throw std::make_shared<Failure>(i, &destroyed);
            } catch (...) {
                promise.set_exception(std::current_exception());
            }
        });
        try {
            future.get();
        } catch (const std::shared_ptr<Failure> &failure) {
            seen += failure->number;
        }
        thrower.join();
    }
    for (int i = 0; i < ROUNDS; i++) {
        std::exception_ptr held = std::make_exception_ptr(Failure(0, &destroyed));
        auto hold = [held](bool writes) {
            try {
                std::rethrow_exception(held);
            } catch (Failure &failure) {
                if (writes) // the destructor reads it, maybe in the other thread
                    failure.number = 1;
            }
        };
        std::vector<std::jthread> holders;
        holders.emplace_back(hold, true);
        holders.emplace_back(std::move(hold), false);
        held = nullptr;
    }
    return seen + (destroyed >= seen);
}

static long use_futures()
{
    long sum = 0;
    std::vector<std::future<std::unique_ptr<long>>> futures;
    for (int i = 0; i < ROUNDS; i++)
        futures.push_back(std::async(std::launch::async, [i] { return std::make_unique<long>(i); }));
    for (auto &future : futures)
        sum += *future.get();
    std::packaged_task<std::string(int)> task([](int n) { return std::string(n, 'x'); });
    std::shared_future<std::string> text = task.get_future().share();
    std::jthread runner(std::move(task), 100), reader([text] {
        if (text.get().size() != 100)
            abort();
    });
    return sum + text.get().size();
}

static long use_locales()
{
    std::locale made(std::locale(), new std::numpunct<char>), shared = made;
    std::mutex lock;
    long sum = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, local = shared] {
            for (int i = 0; i < ROUNDS; i++) {
                std::ostringstream out;
                out.imbue(local);
                out << i * 1000 << ' ' << 1.5;
                std::regex expression("([0-9]+) (.*)");
                std::smatch match;
                std::string text = out.str();
                std::regex_match(text, match, expression);
                std::lock_guard locked(lock);
                sum += std::stol(match[1]);
            }
        });
    made = shared = std::locale();
    threads.clear();
    return sum;
}

static long share_pointers()
{
    std::shared_ptr<long> place = std::make_shared<long>(0);
    std::once_flag once;
    long once_value = 0, sum = 0;
    std::pmr::synchronized_pool_resource pool;
    std::counting_semaphore<> free_places(2), used_places(0);
    std::barrier<> meet(2);
    std::latch ended(2);
    std::shared_mutex shared;
    std::stop_source stop;
    long slots[2], parts[2] = {0, 0};
    auto run = [&](int me) {
        std::call_once(once, [&] { once_value = 9; });
        parts[me] = once_value;
        meet.arrive_and_wait();
        std::pmr::vector<long> own(&pool);
        for (int i = 0; i < 300; i++) {
            own.push_back(parts[!me]);
            std::shared_ptr<long> old = std::atomic_load(&place);
            std::atomic_store(&place, std::make_shared<long>(*old + 1));
            if (me) {
                free_places.acquire();
                slots[i % 2] = i;
                used_places.release();
            } else {
                used_places.acquire();
                sum += slots[i % 2];
                free_places.release();
            }
            std::unique_lock writing(shared);
            once_value++;
        }
        std::shared_lock reading(shared);
        ended.count_down();
    };
    std::jthread a(run, 0), b(run, 1);
    ended.wait();
    long left = 0, seen = 0;
    std::condition_variable_any stopped;
    std::mutex mutex;
    std::jthread waiter([&] {
        std::unique_lock locked(mutex);
        stopped.wait(locked, stop.get_token(), [] { return false; });
        seen = left;
    });
    left = 3;
    stop.request_stop();
    waiter.join();
    return sum + once_value + seen;
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    printf("%ld ", hand_on_exceptions());
    printf("%ld %ld ", use_futures(), use_locales());
    printf("%ld\n", share_pointers());
    planted_end();
    return 0;
}
