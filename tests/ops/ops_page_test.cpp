// docs/ops.md is up to date with the headers, the phrasebook and the catalogue; and how many of
// PyTorch's hundred it covers.
#include <doctest/doctest.h>
#include <tapestry/tests/ops/ops_page.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace tapestry;
using namespace tapestry::test;

namespace {

/// For each of the hundred in docs/ops.md, whether all its rows have an equivalent.
std::map<int, bool> shown_in(const Lines& page) {
    std::map<int, bool> there;
    for (const std::string& line : page) {
        int number = 0;
        if (std::sscanf(line.c_str(), "| %d | `", &number) != 1) continue;
        there.try_emplace(number, true);
        if (line.ends_with("| not there |")) there[number] = false;
    }
    return there;
}

/// True for functions: not operators, types or constants (kAll).
bool is_function(const std::string& name) {
    const auto is_capital = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
    const bool constant = name.size() > 1 && name[0] == 'k' && is_capital(name[1]);
    return !is_capital(name.at(0)) && !constant && !name.starts_with("operator");
}

}  // namespace

TEST_CASE("docs/ops.md: current, and how many of the hundred") {
    const std::filesystem::path page = source_dir() / "docs/ops.md";
    const std::string wanted =
        ops_page(source_dir(), read_phrasebook(source_dir() / "tests/ops/phrases_test.cpp"));
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) std::ofstream(page) << wanted;

    const Lines lines = lines_of(page);
    std::istringstream now(wanted);
    std::size_t at = 0;
    std::string line;
    while (std::getline(now, line) && at < lines.size() && lines[at] == line) ++at;
    if (now || at < lines.size()) {
        FAIL_CHECK("docs/ops.md is old: line "
                   << at + 1 << " should be \"" << line << "\". Run TAPESTRY_UPDATE=1 "
                   << "build/release/tests/test_ops --test-case='docs/ops.md*', and read git diff");
    }
    const std::map<int, bool> there = shown_in(lines);
    CHECK_EQ(there.size(), 100);
    CHECK_EQ(std::count_if(there.begin(), there.end(), [](const auto& one) { return one.second; }),
             100);
}

TEST_CASE("docs/ops.md: each function has PyTorch's name, or none") {
    const Phrasebook phrasebook = read_phrasebook(source_dir() / "tests/ops/phrases_test.cpp");
    std::set<std::string> functions;
    for (const std::string& path : headers_of_ops_page(source_dir())) {
        for (const Entry& entry : read_public_header(source_dir(), path).entries) {
            for (const std::string& name : entry.names()) {
                if (is_function(name)) functions.insert(name);
            }
        }
    }
    for (const std::string& name : functions) {
        const bool without = phrasebook.no_counterpart.count(name) != 0;
        CHECK_MESSAGE(
            without == phrasebook.with(name).empty(),
            name << ": tests/ops/phrases_test.cpp has neither PyTorch's phrase for it nor "
                    "\"no counterpart\", or both");
    }
    for (const std::string& name : phrasebook.no_counterpart) {
        CHECK_MESSAGE(functions.count(name) == 1, name << " has no counterpart, and is not there");
    }
}

TEST_CASE("public headers: what the reader makes of one") {
    const PublicHeader header = read_public_header(source_dir(), "ops/loss.h");
    REQUIRE_GE(header.entries.size(), 5);
    CHECK_EQ(header.opening.at(0), "Losses: what a training step makes small.");
    CHECK_EQ(header.entries[0].names(), Lines{"Reduction"});
    CHECK_EQ(header.entries[1].names(), Lines{"CrossEntropyOptions"});
    CHECK_EQ(header.entries[2].names(), Lines{"cross_entropy"});
    CHECK_EQ(header.entries[2].declarations.at(0).code,
             "Tensor cross_entropy(const Tensor& logits, const Tensor& targets,\n"
             "                     const CrossEntropyOptions& options = {});");
    CHECK_EQ(header.entries[3].names(), Lines{"NllOptions"});
    CHECK(header.entries[4].text.at(0).starts_with("-log_p[target], the negative log-likelihood"));
}
