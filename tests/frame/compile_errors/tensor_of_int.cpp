// -std=c++20
// elements are float, double, std::int64_t, bool, Bf16 or F16: say which: tensor<float>({1, 2, 3})
#include <tapestry/core/create.h>
const tapestry::Tensor x = tapestry::tensor({1, 2, 3});
