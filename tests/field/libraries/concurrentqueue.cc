// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libconcurrentqueue-dev
// Flags: -std=c++17
// moodycamel's queue, all in its header: compiled with the program, so that its atomics are seen. With
// producer tokens: without, the last reader of a block passes it on without an acquire (concurrentqueue.h:1587), a race of its.
#include "planted.h"
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <concurrentqueue/concurrentqueue.h>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

enum { COUNT = 500 };

static void use(int)
{
    moodycamel::ConcurrentQueue<int> own;
    int value;
    own.enqueue(1);
    own.try_dequeue(value);
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    moodycamel::ConcurrentQueue<std::unique_ptr<long>> queue;
    moodycamel::BlockingConcurrentQueue<std::unique_ptr<long>> blocking;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            moodycamel::ProducerToken token(queue), blocking_token(blocking);
            for (int i = 0; i < COUNT; i++) {
                queue.enqueue(token, std::make_unique<long>(i));
                blocking.enqueue(blocking_token, std::make_unique<long>(i));
            }
        });
    long sums[2] = {0, 0};
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            std::unique_ptr<long> block;
            for (int i = 0; i < COUNT; i++) {
                while (!queue.try_dequeue(block))
                    std::this_thread::yield();
                sums[t] += *block;
                blocking.wait_dequeue(block);
                sums[t] += *block;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    planted_end();
    printf("%ld\n", sums[0] + sums[1]);
    return 0;
}
