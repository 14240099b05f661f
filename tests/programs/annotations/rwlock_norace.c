/* An annotated read-write lock: a reader, then a writer. */
#include "../order.h"

void AnnotateRWLockCreate(const char *file, int line, const volatile void *lock);
void AnnotateRWLockDestroy(const char *file, int line, const volatile void *lock);
void AnnotateRWLockAcquired(const char *file, int line, const volatile void *lock, long is_write);
void AnnotateRWLockReleased(const char *file, int line, const volatile void *lock, long is_write);

enum { WRITE = 1 };
int data;
RB_APART int word;

static void first(void)
{
    AnnotateRWLockAcquired(__FILE__, __LINE__, &word, 0);
    rb_use(data);
    AnnotateRWLockReleased(__FILE__, __LINE__, &word, 0);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &word, WRITE);
    data = 1;
    AnnotateRWLockReleased(__FILE__, __LINE__, &word, WRITE);
}

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &word);
    rb_both(first, second);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &word);
    return 0;
}
