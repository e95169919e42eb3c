// Linked into every program without arguments, so that `xor --help` answers and does not train. It
// runs before main, which is then about the program's idea and nothing else.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// glibc hands what main() would get to such a function, too.
[[gnu::constructor]] void refuse_arguments(int argc, char** argv, char**) {
    if (argc < 2) return;
    const bool asks = std::strcmp(argv[1], "--help") == 0;
    const char* name = program_invocation_short_name;
    std::fprintf(asks ? stdout : stderr,
                 "%s: takes no arguments; see examples/programs/%s.cpp for what it shows\n", name,
                 name);
    std::exit(asks ? 0 : 2);
}

}  // namespace
