// -std=c++17
// Tapestry needs C++20: compile with -std=c++20
#include <tapestry/nn/module/module.h>
