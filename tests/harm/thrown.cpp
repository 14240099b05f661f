// An exception that nobody catches, in a thread or in main, and one that is caught on the way.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

static int shared;

int main(int argc, char **argv)
{
    std::thread([] { shared = 1; }).join();
    try {
        throw std::runtime_error("caught");
    } catch (const std::exception &e) {
        std::puts(e.what());
    }
    std::fflush(stdout);
    if (argc > 1 && !std::strcmp(argv[1], "thread"))
        std::thread([] { throw std::runtime_error("in a thread"); }).join();
    throw std::runtime_error("in main");
}
