// Compiled by tests/cli/test_report.sh. A label in the code marks each place that the test asks for, and a comment
// on its line says what the answer is.
#define MARK(name) __asm__ volatile(".globl " #name "\n" #name ": nop" ::: "memory")

struct pair {
    int left, right;
};
struct pair table[5]; // table
__attribute__((used)) static int hits[3];

static inline __attribute__((always_inline)) void innermost(int *p)
{
    *p += 1;
    MARK(at_innermost); // innermost
}

static inline __attribute__((always_inline)) void middle(int *p)
{
    innermost(p); // called from middle
}

__attribute__((noinline)) void outer(int *p)
{
    middle(p); // called from outer
    MARK(at_outer); // outer
}

__attribute__((noinline)) int count_calls(void)
{
    static int calls; // a function's own
    MARK(at_count); // count
    calls++;
    return calls + hits[calls % 3];
}

#ifndef LIBRARY
int main(void)
{
    outer(&table[1].right);
    outer(&hits[1]);
    return count_calls() < 0;
}
#endif
