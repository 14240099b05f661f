// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An empty shared object with a name. A program that was linked with TSan's runtime requests it from the loader
// by name (libtsan.so.2). The loader first looks for a loaded object of that name, before RPATH and all folders.
// `railbird run` preloads our runtime and these objects. So the real one is not loaded, and the hooks are found
// in our runtime, which comes first.
typedef int rb_nothing; // ISO C requires a declaration
