/* std::thread: written after it was started, used before it is joined. */
#include "../order.h"
#include <thread>

RB_APART int before, after;

int main()
{
    std::thread thread([] {
        rb_await(1);
        before = 2; /* RACE 2 */
        after = 1;  /* RACE 3 */
        rb_reach(2);
    });
    before = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    after = 2; /* RACE 4 */
    thread.join();
    return rb_done();
}
