/* Loaded by the programs beside it: writes where it is told. */
__attribute__((noinline)) void plugin_set(int *place, int value)
{
    *place = value; /* RACE 2 */
    __asm__ volatile("" : : : "memory");
}
