// Calls that a part of the tree must not have: of the locale in the library,
// of printing in the command, of HTML's parser in the scripts of pages.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace fs = std::filesystem;
using tapestry::test::source_dir;

namespace {

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The call in `code` that reads or writes real numbers, or tells kinds of characters apart, by the
// locale; empty if there is none. (std::isdigit does not ask it.)
std::string asks_the_locale(const std::string& code) {
    static const std::regex call(
        R"(\b(strto(d|f|ld)|atof|sto(d|f|ld)|\w*scanf|\w*printf|to(lower|upper))"
        R"(|is(alpha|alnum|space|upper|lower|punct|print|graph|cntrl|blank)) ?\()");
    std::smatch found;
    return std::regex_search(code, found, call) ? found[1].str() : "";
}

}  // namespace

// A user's program may set a locale in which 2.5 reads as 2 and a byte of UTF-8 is a letter. The
// library does not depend on it: fmt and charconv ignore locales, while the functions named above
// do not.
TEST_CASE("locale: the library reads and writes without asking it") {
    CHECK_EQ(asks_the_locale("x = std::strtod(text, nullptr);"), "strtod");
    CHECK_EQ(asks_the_locale("std::stod (text)"), "stod");
    CHECK_EQ(asks_the_locale("std::snprintf(to, n, \"%g\", x)"), "snprintf");
    CHECK_EQ(asks_the_locale("std::tolower(c)"), "tolower");
    CHECK_EQ(asks_the_locale("std::isspace(c)"), "isspace");
    CHECK_EQ(asks_the_locale("fmt::print(\"{}\", std::from_chars(a, b, x))"), "");

    const fs::path root = source_dir();
    int files = 0;
    for (const char* room : {"core", "autograd", "ops", "nn"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
            const fs::path& path = entry.path();
            if (path.extension() != ".cpp" && path.extension() != ".h") continue;
            CHECK_MESSAGE(asks_the_locale(text_of(path)) == "", path.string());
            ++files;
        }
    }
    CHECK_GT(files, 300);
}

// Printing is examples/options/output.h's, which escapes strings from files.
TEST_CASE("printing: the command and its options print by output.h alone") {
    std::size_t sources = 0;
    for (const char* folder : {"examples/cli", "examples/options"}) {
        for (const auto& entry : fs::directory_iterator(source_dir() / folder)) {
            const std::string name = entry.path().filename().native();
            if (name == "output.cpp") continue;
            const std::string text = text_of(entry.path());
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

// The scripts create elements by name and set their text (dom.js). None parses HTML or evaluates
// text as a program; the pages' content security policy would block it as well.
TEST_CASE("page scripts: none parses HTML") {
    std::size_t scripts = 0;
    for (const char* folder : {"nn/pages/web", "examples/school/playground/web",
                               "examples/school/site/web", "examples/school/site/figures"}) {
        for (const auto& entry : fs::directory_iterator(source_dir() / folder)) {
            if (entry.path().extension() != ".js") continue;
            const std::string script = text_of(entry.path());
            for (const char* parses :
                 {"innerHTML", "outerHTML", "insertAdjacentHTML", "setHTML", "document.write",
                  "srcdoc", "DOMParser", "createContextualFragment", "eval(", "Function(",
                  "javascript:"}) {
                INFO(entry.path().native(), " has ", parses);
                CHECK_EQ(script.find(parses), std::string::npos);
            }
            ++scripts;
        }
    }
    CHECK_GT(scripts, 50);
}
