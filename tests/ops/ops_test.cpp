// Every row of every op, and that every public op has a row.
#include <doctest/doctest.h>
#include <tapestry/tests/ops/check_case.h>
#include <tapestry/tests/ops/public_header.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <set>

using namespace tapestry;
using namespace tapestry::test;

namespace {

using catalog::all_cases, catalog::OpCase;

// The public ops: names of the functions in ops/*.h that return tensors.
std::set<std::string> declared_ops() {
    // Helpers for op authors, and a product that is not recorded.
    const std::set<std::string> not_ops{"ops/check.h", "ops/int8_rows.h"};
    const std::set<std::string> results{"Tensor",    "Tensors",     "Selection", "Unique",
                                        "QrFactors", "EighFactors", "SvdFactors"};
    std::set<std::string> names;
    for (const std::string& path : public_op_headers(source_dir())) {
        if (not_ops.count(path) != 0) continue;
        for (const Entry& entry : read_public_header(source_dir(), path).entries) {
            for (const Declaration& one : entry.declarations) {
                const std::string result = one.code.substr(0, one.code.find(' '));
                if (results.count(result) == 0 || one.name.starts_with("operator")) continue;
                names.insert(one.name);
            }
        }
    }
    return names;
}

void check_every_second_row(std::size_t first) {
    const auto& rows = all_cases();
    for (std::size_t i = first; i < rows.size(); i += 2) {
        SUBCASE(rows[i].title().c_str()) {
            for (const std::string& failure : check_case(rows[i])) FAIL_CHECK(failure);
        }
    }
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
    CHECK_EQ(sanitized.dtypes.size(), floating_dtypes().size());
    CHECK(effort_for(nullptr).definitions);
    CHECK_FALSE(sanitized.definitions);
    CHECK(effort_for("emulated").isas == std::vector<Isa>{all.back()});
    CHECK_EQ(effort_for("emulated").samples, 1);
    CHECK_THROWS_WITH(effort_for("most"), "TAPESTRY_ROWS=most: not whole, sanitized or emulated");
}

// Two cases, which ctest runs in parallel.
TEST_CASE("ops: values, gradients, threads and errors of even rows") { check_every_second_row(0); }
TEST_CASE("ops: values, gradients, threads and errors of odd rows") { check_every_second_row(1); }
