// The table of all rows. A new function of rows needs a declaration and a line here; a test fails
// if a public op of ops/*.h has no row.
#include <tapestry/ops/catalog/op_case.h>

#include <iterator>

namespace tapestry::catalog {

std::vector<OpCase> activation_cases();
std::vector<OpCase> arithmetic_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> channel_norm_cases();
std::vector<OpCase> comparison_cases();
std::vector<OpCase> convolution_cases();
std::vector<OpCase> distance_cases();
std::vector<OpCase> division_cases();
std::vector<OpCase> einsum_cases();
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> elementwise_loss_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> join_cases();
std::vector<OpCase> linalg_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> masking_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> order_cases();
std::vector<OpCase> pooling_cases();
std::vector<OpCase> prod_cases();
std::vector<OpCase> product_cases();
std::vector<OpCase> rearrange_cases();
std::vector<OpCase> reduction_cases();
std::vector<OpCase> rotary_cases();
std::vector<OpCase> rounding_cases();
std::vector<OpCase> sampling_cases();
std::vector<OpCase> scan_cases();
std::vector<OpCase> selection_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> strided_cases();
std::vector<OpCase> subscript_cases();
std::vector<OpCase> transcendental_cases();
std::vector<OpCase> vector_norm_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> whole_cases();

const std::vector<OpCase>& all_cases() {
    static const std::vector<OpCase> cases = [] {
        std::vector<OpCase> all;
        for (auto* rows : {activation_cases,
                           arithmetic_cases,
                           attention_cases,
                           channel_norm_cases,
                           comparison_cases,
                           convolution_cases,
                           distance_cases,
                           division_cases,
                           einsum_cases,
                           elementwise_cases,
                           elementwise_loss_cases,
                           indexing_cases,
                           join_cases,
                           linalg_cases,
                           loss_cases,
                           masking_cases,
                           matmul_cases,
                           norm_cases,
                           order_cases,
                           pooling_cases,
                           prod_cases,
                           product_cases,
                           rearrange_cases,
                           reduction_cases,
                           rotary_cases,
                           rounding_cases,
                           sampling_cases,
                           scan_cases,
                           selection_cases,
                           softmax_cases,
                           strided_cases,
                           subscript_cases,
                           transcendental_cases,
                           vector_norm_cases,
                           view_cases,
                           whole_cases}) {
            auto more = rows();
            std::move(more.begin(), more.end(), std::back_inserter(all));
        }
        return all;
    }();
    return cases;
}

}  // namespace tapestry::catalog
