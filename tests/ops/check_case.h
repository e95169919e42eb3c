// Everything a row of the catalogue promises of its op, put to the test. Read next:
// ops/catalog/op_case.h, the row; ops_test.cpp, which goes through them all.
#pragma once

#include <tapestry/ops/catalog/op_case.h>

#include <string>
#include <vector>

namespace tapestry::test {

/// What is wrong with one row; empty if nothing is. Sets threads and ISA and restores them.
std::vector<std::string> check_case(const catalog::OpCase& row);

}  // namespace tapestry::test
