// A shared object with nothing in it but its name. A program that was linked with TSan's runtime asks the
// loader for it by name (libtsan.so.2); the loader looks first whether an object of that name is loaded
// already, before RPATH and all folders. `railbird run` preloads our runtime and these, so the real one never
// comes in, and the hooks are found where they are: in ours, which is first.
typedef int rb_nothing; // ISO C wants a declaration
