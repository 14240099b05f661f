/* A plugin with much memory, its own and each thread's. */
int plugin_big[1 << 18], plugin_given[1 << 18] = {1};
static __thread int plugin_own[1000];

void plugin_set(int value)
{
    for (int i = 0; i < 1 << 18; i += 64)
        plugin_big[i] = plugin_given[i] = value; /* RACE 2 */
}

void plugin_fill(int value)
{
    for (int i = 0; i < 1000; i++)
        plugin_own[i] = value;
}
