// Every row of every op, and that every public op has a row.
#include <doctest/doctest.h>
#include <tapestry/tests/ops/op_case.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace tapestry::test {
namespace {

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Names of the functions declared in ops/*.h that return a tensor: the public ops.
std::set<std::string> declared_ops() {
    // What serves those who write ops, or changes tensors in place and is tested on its own.
    const std::set<std::string> not_ops{"map.h",         "check.h", "update.h",
                                        "reduce_axes.h", "keep.h",  "batch.h"};
    const std::regex declaration(R"((?:^|\n)(?:Tensor|Tensors) ([a-z_0-9]+)\()");
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(TAPESTRY_SOURCE_DIR "/ops")) {
        if (entry.path().extension() != ".h") continue;
        if (not_ops.count(entry.path().filename().string()) != 0) continue;
        const std::string text = contents(entry.path());
        for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
            names.insert((*it)[1]);
        }
    }
    return names;
}

}  // namespace

TEST_CASE("every public op has a row, and every row an op") {
    std::set<std::string> rows;
    for (const OpCase& row : all_cases()) rows.insert(row.name);
    const std::set<std::string> ops = declared_ops();
    CHECK(ops.size() > 40);
    for (const std::string& op : ops) CHECK_MESSAGE(rows.count(op) == 1, op << " has no row");
    for (const std::string& row : rows) CHECK_MESSAGE(ops.count(row) == 1, row << " is no op");
}

TEST_CASE("ops: values, gradients, threads and errors") {
    for (const OpCase& row : all_cases()) {
        SUBCASE(row.title().c_str()) {
            for (const std::string& failure : check_case(row)) FAIL_CHECK(failure);
        }
    }
}

}  // namespace tapestry::test
