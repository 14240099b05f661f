// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libspdlog-dev
// Flags: -std=c++17 $(pkg-config --cflags --libs spdlog)
// spdlog as a shared library: loggers that a pool of threads serves, with a sink of the program, which the sink's mutex guards.
#include "planted.h"
#include <cstdio>
#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <thread>
#include <vector>

enum { COUNT = 200 };

static void use(int thread)
{
    spdlog::memory_buf_t own;
    fmt::format_to(std::back_inserter(own), "{}", thread);
}

struct Sink : spdlog::sinks::base_sink<std::mutex> {
    long lines = 0, bytes = 0, flushes = 0;

  protected:
    void sink_it_(const spdlog::details::log_msg &message) override
    {
        lines++;
        bytes += message.payload.size();
    }
    void flush_() override
    {
        flushes++;
    }
};

struct Text {
    std::string *text;
};
template <> struct fmt::formatter<Text> : fmt::formatter<std::string> {
    template <typename Context> auto format(const Text &t, Context &context)
    {
        return fmt::formatter<std::string>::format(*t.text, context);
    }
};

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    auto sink = std::make_shared<Sink>();
    {
        auto pool = std::make_shared<spdlog::details::thread_pool>(128, 2);
        auto logger =
            std::make_shared<spdlog::async_logger>("field", sink, pool, spdlog::async_overflow_policy::block);
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; t++)
            threads.emplace_back([logger, t] {
                for (int i = 0; i < COUNT; i++) {
                    std::string text(20 + t, 'x');
                    logger->info("line {} {}", Text{&text}, 100 + i);
                }
                logger->flush();
            });
        for (std::thread &thread : threads)
            thread.join();
        logger.reset();
    } // the pool ends when it has written all
    planted_end();
    printf("%ld %ld %ld\n", sink->lines, sink->bytes, sink->flushes);
    return 0;
}
