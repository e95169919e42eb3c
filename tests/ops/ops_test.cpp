// Every row of every op, and that every public op has a row.
#include <doctest/doctest.h>
#include <tapestry/tests/ops/check_case.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace tapestry::test {
namespace {

using catalog::all_cases, catalog::OpCase;

// "exp" from "Tensor exp(const Tensor& x);"; nothing from other lines, nor from operators.
std::string declared_in(const std::string& line) {
    for (const std::string_view type : {"Tensor ", "Tensors "}) {
        const std::size_t end = line.find('(');
        if (!line.starts_with(type) || end == std::string::npos) continue;
        const std::string name = line.substr(type.size(), end - type.size());
        const auto plain = [](char c) { return std::islower(c) || std::isdigit(c) || c == '_'; };
        if (std::all_of(name.begin(), name.end(), plain)) return name;
    }
    return {};
}

// Names of the functions declared in ops/*.h that return a tensor: the public ops.
std::set<std::string> declared_ops() {
    // What serves those who write ops, or changes tensors in place and is tested on its own.
    const std::set<std::string> not_ops{"map.h",  "check.h", "optimizer_step.h", "reduce_axes.h",
                                        "keep.h", "batch.h", "decisions.h"};
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "ops")) {
        if (entry.path().extension() != ".h") continue;
        if (not_ops.count(entry.path().filename().string()) != 0) continue;
        std::ifstream header(entry.path());
        for (std::string line; std::getline(header, line);) {
            const std::string name = declared_in(line);
            if (!name.empty()) names.insert(name);
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

TEST_CASE("ops: how much of a row is tried") {
    const auto all = available_isas();
    CHECK(effort_for(nullptr).isas == all);
    const Effort sanitized = effort_for("sanitized");
    CHECK_EQ(sanitized.isas.size(), std::min<std::size_t>(all.size(), 2));
    CHECK(sanitized.isas.front() == all.front());
    CHECK(sanitized.isas.back() == all.back());
    CHECK_EQ(sanitized.dtypes.size(), 2);
    CHECK(effort_for("emulated").isas == std::vector<Isa>{all.back()});
    CHECK_EQ(effort_for("emulated").samples, 1);
    CHECK_THROWS_WITH(effort_for("most"), "TAPESTRY_ROWS=most: neither sanitized nor emulated");
}

TEST_CASE("ops: values, gradients, threads and errors") {
    for (const OpCase& row : all_cases()) {
        SUBCASE(row.title().c_str()) {
            for (const std::string& failure : check_case(row)) FAIL_CHECK(failure);
        }
    }
}

}  // namespace tapestry::test
