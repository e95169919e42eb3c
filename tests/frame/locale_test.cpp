// A user's program may set a locale in which 2.5 reads as 2. The library does not depend on it: fmt
// and charconv ignore locales, while the functions named here do not.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// The call in `code` that reads or writes real numbers by the locale; empty if there is none.
std::string asks_the_locale(const std::string& code) {
    static const std::regex call(R"(\b(strto(d|f|ld)|atof|sto(d|f|ld)|\w*scanf|\w*printf) ?\()");
    std::smatch found;
    return std::regex_search(code, found, call) ? found[1].str() : "";
}

}  // namespace

TEST_CASE("locale: the library reads and writes numbers without asking it") {
    CHECK_EQ(asks_the_locale("x = std::strtod(text, nullptr);"), "strtod");
    CHECK_EQ(asks_the_locale("std::stod (text)"), "stod");
    CHECK_EQ(asks_the_locale("std::snprintf(to, n, \"%g\", x)"), "snprintf");
    CHECK_EQ(asks_the_locale("fmt::print(\"{}\", std::from_chars(a, b, x))"), "");

    const fs::path root = tapestry::test::source_dir();
    int files = 0;
    for (const char* room : {"core", "autograd", "ops", "nn"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
            const fs::path& path = entry.path();
            if (path.extension() != ".cpp" && path.extension() != ".h") continue;
            std::ifstream file(path);
            const std::string code{std::istreambuf_iterator<char>(file), {}};
            CHECK_MESSAGE(asks_the_locale(code) == "", path.string());
            ++files;
        }
    }
    CHECK_GT(files, 300);
}
