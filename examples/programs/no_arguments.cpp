// Linked into every program that takes no arguments, so `xor --help` prints a line instead of
// training. It runs before main(), which stays free of argument handling.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// glibc passes main()'s arguments to constructor functions as well.
[[gnu::constructor]] void refuse_arguments(int argc, char** argv, char**) {
    if (argc < 2) return;
    const bool asks = std::strcmp(argv[1], "--help") == 0;
    const char* name = program_invocation_short_name;
    std::fprintf(asks ? stdout : stderr,
                 "%s: takes no arguments; examples/programs/%s.cpp explains it\n", name, name);
    std::exit(asks ? 0 : 2);
}

}  // namespace
