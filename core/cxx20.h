// Says what is wrong when Tapestry is compiled as C++17 or less, and ends the compilation there:
// what the other headers would have to say of it fills a screen.
#pragma once

#if __cplusplus <= 201703L
#error Tapestry needs C++20: compile with -std=c++20
#include <tapestry/needs/-std=c++20>  // not there, which no compiler goes on from
#endif
