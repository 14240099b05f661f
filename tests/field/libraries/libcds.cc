// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libcds-dev
// Flags: -std=c++17 -lcds
// CDS: containers in headers; hazard pointers, and so the moment a block is freed, in the library.
// Not its lists: unlinking a node publishes the next one without a release (michael_list.h:276), a race of theirs.
#include "planted.h"
#include <cds/container/msqueue.h>
#include <cds/container/treiber_stack.h>
#include <cds/gc/hp.h>
#include <cds/init.h>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

enum { COUNT = 500 };

static void use(int)
{
    cds::threading::Manager::attachThread();
    cds::threading::Manager::detachThread();
}

struct Value {
    std::shared_ptr<long> block;
    long number = 0;
};

static void run()
{
    cds::container::MSQueue<cds::gc::HP, Value> queue;
    cds::container::TreiberStack<cds::gc::HP, Value> stack;
    std::vector<std::thread> threads;
    long sums[2] = {0, 0};
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            cds::threading::Manager::attachThread();
            for (int i = 0; i < COUNT; i++) {
                queue.push({std::make_shared<long>(i), i});
                stack.push({std::make_shared<long>(i), i});
            }
            cds::threading::Manager::detachThread();
        });
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            cds::threading::Manager::attachThread();
            Value value;
            for (int i = 0; i < COUNT; i++) {
                while (!queue.pop(value))
                    std::this_thread::yield();
                sums[t] += *value.block + value.number;
                while (!stack.pop(value))
                    std::this_thread::yield();
                sums[t] += *value.block + value.number;
            }
            cds::threading::Manager::detachThread();
        });
    for (std::thread &thread : threads)
        thread.join();
    printf("%ld\n", sums[0] + sums[1]);
}

int main(int argc, char **argv)
{
    cds::Initialize();
    {
        cds::gc::HP hazard_pointers;
        cds::threading::Manager::attachThread();
        planted_start(argc, argv, use);
        run();
        planted_end();
        cds::threading::Manager::detachThread();
    }
    cds::Terminate();
    return 0;
}
