// How much malloc has given out, as glibc says it since 2.33: emscripten's counts in ints.
#pragma once

#include_next <malloc.h>

struct mallinfo2 {
    size_t uordblks;
};

inline struct mallinfo2 mallinfo2() { return {static_cast<size_t>(mallinfo().uordblks)}; }
