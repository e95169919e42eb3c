// The scripts of pages, which receive strings from files.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using tapestry::test::source_dir;

// The scripts create elements by name and set their text (dom.js). None parses HTML or evaluates
// text as a program; the pages' content security policy would block it as well.
TEST_CASE("page scripts: none parses HTML") {
    std::size_t scripts = 0;
    for (const char* folder : {"nn/pages/web", "examples/school/playground/web",
                               "examples/school/site/web", "examples/school/site/figures"}) {
        for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
            if (entry.path().extension() != ".js") continue;
            std::ifstream file(entry.path());
            const std::string script{std::istreambuf_iterator<char>(file), {}};
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
