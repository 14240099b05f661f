// As names.c, in C++: templates, namespaces, lambdas, variables that have mangled names.
#define MARK(name) __asm__ volatile(".globl " #name "\n" #name ": nop" ::: "memory")

namespace shop {
template <typename T> struct Box {
    T value;
    __attribute__((noinline)) void put(const T &v)
    {
        value = v;
        MARK(at_put); // put
    }
    inline __attribute__((always_inline)) T take()
    {
        MARK(at_take); // take
        return value;
    }
};
long till[4]; // the till
} // namespace shop

namespace {
__attribute__((noinline)) long hidden(long v)
{
    volatile long copy = v;
    MARK(at_hidden); // hidden
    return copy;
}
} // namespace

int main()
{
    shop::Box<double> box{};
    auto sell = [&](double v) __attribute__((noinline)) {
        box.put(v);
        MARK(at_lambda); // lambda
    };
    sell(2);
    shop::till[1] = static_cast<long>(box.take()); // takes
    return static_cast<int>(hidden(shop::till[1])) & 0;
}
