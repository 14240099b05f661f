#include "inproc/host.h"

struct rb_host rb_host;
struct rb_options rb_options;
