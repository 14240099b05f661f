// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libtbb-dev
// Flags: -std=c++17 -ltbb
// oneTBB: loops over a vector, containers that hand over blocks, task groups, its locks, a flow graph. The documentation
// orders the body of a task after its spawn, wait after the bodies, and a pop after the push of the same element.
#include "planted.h"
#include <atomic>
#include <cstdio>
#include <memory>
#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_queue.h>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/queuing_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/task_group.h>
#include <vector>

static void use(int)
{
    tbb::concurrent_queue<int> own;
    int value;
    own.push(1);
    own.try_pop(value);
    tbb::spin_mutex lock;
    tbb::spin_mutex::scoped_lock locked(lock);
}

static long loops()
{
    std::vector<int> v(20000);
    long sum = 0;
    for (int round = 0; round < 3; round++) {
        tbb::parallel_for(0, (int)v.size(), [&](int i) { v[i] = (i * 2654435761u) >> 8; });
        sum += tbb::parallel_reduce(
            tbb::blocked_range<int>(0, v.size()), 0L,
            [&](const tbb::blocked_range<int> &r, long s) {
                for (int i = r.begin(); i != r.end(); i++)
                    s += v[i];
                return s;
            },
            [](long a, long b) { return a + b; });
        tbb::parallel_sort(v.begin(), v.end());
    }
    return sum;
}

static long queues()
{
    tbb::concurrent_bounded_queue<std::unique_ptr<int>> q;
    tbb::task_group group;
    long got = 0;
    group.run([&] {
        for (int i = 0; i < 1000; i++)
            q.push(std::make_unique<int>(i));
    });
    std::unique_ptr<int> p;
    for (int i = 0; i < 1000; i++)
        if (q.try_pop(p) || (group.wait(), q.try_pop(p)))
            got += *p;
    group.wait();
    return got;
}

static long locks()
{
    tbb::concurrent_hash_map<int, int> map;
    tbb::spin_mutex spin;
    tbb::queuing_mutex queuing;
    tbb::queuing_rw_mutex mutex;
    long a = 0, b = 0, c = 0;
    tbb::parallel_for(0, 3000, [&](int i) {
        {
            tbb::concurrent_hash_map<int, int>::accessor at;
            map.insert(at, i % 97);
            at->second++;
        }
        {
            tbb::spin_mutex::scoped_lock l(spin);
            a++;
        }
        {
            tbb::queuing_mutex::scoped_lock l(queuing);
            b++;
        }
        {
            tbb::queuing_rw_mutex::scoped_lock l(mutex);
            c++;
        }
    });
    return a + b + c + map.size();
}

static long flows()
{
    tbb::flow::graph graph;
    long sum = 0;
    tbb::flow::function_node<int, std::shared_ptr<int>> make(graph, tbb::flow::unlimited, [](int x) {
        return std::make_shared<int>(x * 2);
    });
    tbb::flow::function_node<std::shared_ptr<int>, int> add(graph, tbb::flow::serial,
                                                            [&](const std::shared_ptr<int> &x) {
                                                                sum += *x;
                                                                return 0;
                                                            });
    tbb::flow::make_edge(make, add);
    for (int i = 0; i < 500; i++)
        make.try_put(i);
    graph.wait_for_all();
    int next = 0;
    tbb::parallel_pipeline(8,
                           tbb::make_filter<void, int *>(tbb::filter_mode::serial_in_order,
                                                         [&](tbb::flow_control &control) -> int * {
                                                             if (next == 300) {
                                                                 control.stop();
                                                                 return nullptr;
                                                             }
                                                             return new int(next++);
                                                         }) &
                               tbb::make_filter<int *, int *>(tbb::filter_mode::parallel,
                                                              [](int *p) { return ++*p, p; }) &
                               tbb::make_filter<int *, void>(tbb::filter_mode::serial_in_order, [&](int *p) {
                                   sum += *p;
                                   delete p;
                               }));
    return sum;
}

int main(int argc, char **argv)
{
    tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
    planted_start(argc, argv, use);
    long a = 0, b = 0;
    tbb::parallel_invoke([&] { a = loops(); }, [&] { b = queues(); });
    printf("%ld %ld ", a, b);
    printf("%ld %ld\n", locks(), flows());
    planted_end();
    return 0;
}
