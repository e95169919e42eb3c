// The command prints with examples/options/output.h, which escapes strings from files.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using tapestry::test::source_dir;

TEST_CASE("printing: the command and its options print by output.h alone") {
    std::size_t sources = 0;
    for (const char* folder : {"examples/cli", "examples/options"}) {
        for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
            const std::string name = entry.path().filename().native();
            if (name == "output.cpp") continue;
            std::ifstream file(entry.path());
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            for (const char* prints : {"fmt::print", "std::cout", "std::cerr", "printf", "puts(",
                                       "fputc", "putchar", "fwrite", "::write("}) {
                // A literal that needs no allocation, when out of memory.
                if (name == "main.cpp" && prints == std::string("puts(")) continue;
                INFO(entry.path().native(), " has ", prints);
                CHECK_EQ(text.find(prints), std::string::npos);
            }
            ++sources;
        }
    }
    CHECK_GT(sources, 20);
}
