/* Loaded by the programs beside it: writes a variable of its own. */
long plugin_total[64];

__attribute__((noinline)) void plugin_add(long value)
{
    for (int i = 0; i < 64; i++)
        plugin_total[i] += value; /* RACE 1 RACE 2 */
    __asm__ volatile("" : : : "memory");
}
