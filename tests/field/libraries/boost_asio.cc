// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libboost-dev
// Flags: -std=c++17
// Boost.Asio, inline: a pool of threads, strands, posted handlers that own blocks, timers, and a resolver; and Boost.Lockfree.
#include "planted.h"
#include <boost/asio.hpp>
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdio>
#include <future>
#include <memory>
#include <thread>

namespace asio = boost::asio;
enum { COUNT = 500 };

static void use(int)
{
    asio::io_context own;
    asio::post(own, [] {});
    own.run();
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    long in_strand = 0, timed = 0;
    {
        asio::thread_pool pool(3);
        auto strand = asio::make_strand(pool);
        for (int i = 0; i < COUNT; i++)
            asio::post(pool, [strand, block = std::make_unique<long>(i), &in_strand]() mutable {
                *block *= 2;
                asio::post(strand, [block = std::move(block), &in_strand] { in_strand += *block; });
            });
        std::future<std::string> text =
            asio::post(pool, asio::use_future([] { return std::string("text"); }));
        in_strand += 0 * text.get().size();
        pool.join();
    }
    {
        asio::io_context context;
        auto guard = asio::make_work_guard(context);
        std::thread runner([&] { context.run(); });
        std::vector<std::unique_ptr<asio::steady_timer>> timers;
        for (int i = 0; i < 20; i++) {
            auto *block = new long(i);
            timers.push_back(std::make_unique<asio::steady_timer>(context, std::chrono::milliseconds(i % 5)));
            timers.back()->async_wait([block, &timed](const boost::system::error_code &) {
                timed += *block;
                delete block;
            });
        }
        asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
        std::promise<long> accepted;
        acceptor.async_accept([&](const boost::system::error_code &error, asio::ip::tcp::socket) {
            accepted.set_value(timed * 0 + !error);
        });
        asio::ip::tcp::socket client(context);
        client.connect(acceptor.local_endpoint());
        long is_accepted = accepted.get_future().get();
        guard.reset();
        runner.join();
        timed += is_accepted;
    }
    boost::lockfree::queue<long *> queue(64);
    boost::lockfree::spsc_queue<long *, boost::lockfree::capacity<64>> single;
    std::thread producer([&] {
        for (int i = 0; i < COUNT; i++) {
            while (!queue.push(new long(i)))
                std::this_thread::yield();
            long *block = new long(i);
            while (!single.push(block))
                std::this_thread::yield();
        }
    });
    long taken = 0, *block;
    for (int i = 0; i < COUNT; i++) {
        while (!queue.pop(block))
            std::this_thread::yield();
        taken += *block;
        delete block;
        while (!single.pop(block))
            std::this_thread::yield();
        taken += *block;
        delete block;
    }
    producer.join();
    planted_end();
    printf("%ld %ld %ld\n", in_strand, timed, taken);
    return 0;
}
