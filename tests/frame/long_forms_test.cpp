// Every test with a long form is run in it by .ci/long.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using tapestry::test::source_dir;

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The beginnings of test cases that .ci/long runs in their long form, by room; "" for all of them.
std::map<std::string, std::vector<std::string>> run_by_ci() {
    static const std::regex command(
        R"re(TAPESTRY_TESTS=long build/release/tests/test_(\w+)( \\\n *)?( *--test-case=(["'])(.*)\4)?)re");
    const std::string script = text_of(source_dir() / ".ci/long");
    std::map<std::string, std::vector<std::string>> all;
    for (std::sregex_iterator at(script.begin(), script.end(), command), none; at != none; ++at) {
        std::string patterns = (*at)[5];
        for (std::size_t comma = 0; comma != std::string::npos;) {
            comma = patterns.find(',');
            std::string pattern = patterns.substr(0, comma);
            if (pattern.ends_with('*')) pattern.pop_back();
            CHECK_MESSAGE(pattern.find('*') == std::string::npos, pattern);
            all[(*at)[1]].push_back(pattern);
            patterns.erase(0, comma + 1);
        }
    }
    return all;
}

// The names of the test cases in a file that ask is_long(): all of them if a helper does.
std::vector<std::string> long_cases(const std::string& text) {
    static const std::regex head(R"re(\nTEST_CASE\(\s*"(.*)")re");
    std::vector<std::string> cases, asking;
    std::string rest = text;
    std::smatch found;
    bool helper = false;
    while (true) {
        const bool more = std::regex_search(rest, found, head);
        const std::string before = more ? found.prefix().str() : rest;
        if (before.find("is_long()") != std::string::npos) {
            cases.empty() ? void(helper = true) : asking.push_back(cases.back());
        }
        if (!more) return helper ? cases : asking;
        cases.push_back(found[1]);
        rest = found.suffix();
    }
}

}  // namespace

TEST_CASE("tests with a long form: .ci/long runs them") {
    const auto run = run_by_ci();
    std::size_t files = 0;
    for (const auto& room : fs::directory_iterator(source_dir() / "tests")) {
        if (!room.is_directory()) continue;
        const auto begins = run.find(room.path().filename().native());
        for (const auto& entry : fs::recursive_directory_iterator(room.path())) {
            if (entry.path().extension() != ".cpp" || entry.path().stem() == "long_forms_test") {
                continue;
            }
            const std::string text = text_of(entry.path());
            if (text.find("is_long()") == std::string::npos) continue;
            INFO(entry.path().native());
            ++files;
            REQUIRE(begins != run.end());
            for (const std::string& name : long_cases(text)) {
                INFO(name);
                CHECK(std::ranges::any_of(begins->second, [&](const std::string& begin) {
                    return name.starts_with(begin);
                }));
            }
        }
    }
    CHECK_GT(files, 15);
}
