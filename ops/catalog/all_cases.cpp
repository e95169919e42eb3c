// The table of all rows. A new file of rows gets a declaration and a line here; a test fails when a
// public op of ops/*.h has no row.
#include <tapestry/ops/catalog/op_case.h>

#include <iterator>

namespace tapestry::catalog {

std::vector<OpCase> arithmetic_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> scan_cases();
std::vector<OpCase> activation_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> masking_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> join_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> comparison_cases();
std::vector<OpCase> elementwise_cases();

const std::vector<OpCase>& all_cases() {
    static const std::vector<OpCase> cases = [] {
        std::vector<OpCase> all;
        for (auto* rows :
             {arithmetic_cases, activation_cases, comparison_cases, attention_cases, matmul_cases,
              masking_cases, indexing_cases, join_cases, view_cases, elementwise_cases,
              reduction_cases, softmax_cases, norm_cases, loss_cases, scan_cases}) {
            auto more = rows();
            std::move(more.begin(), more.end(), std::back_inserter(all));
        }
        return all;
    }();
    return cases;
}

}  // namespace tapestry::catalog
