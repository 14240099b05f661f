// Loaded by the programs beside it: objects that the loader makes and destroys, and a handler of exit.
#include <cstdlib>
#include <string>
#include <vector>

static std::vector<int> numbers(64, 7);
static std::string name(100, 'x');
static long total;

static void at_end()
{
    total += 1;
}

__attribute__((constructor)) static void begin()
{
    total = 1;
    std::atexit(at_end);
}

__attribute__((destructor)) static void end()
{
    total = -total;
}

extern "C" void plugin_one()
{
    numbers.push_back(1); /* RACE 1 */
    name += 'y';          /* RACE 1 */
    total += 1;           /* RACE 1 */
}

extern "C" void plugin_two()
{
    numbers.push_back(2); /* RACE 2 */
    name += 'z';          /* RACE 2 */
    total += 2;           /* RACE 2 */
}
