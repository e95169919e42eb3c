#include <tapestry/tests/pages/expected.h>

#include <fmt/core.h>

#include <cmath>

namespace tapestry::test {

std::string expected_predictions(const std::string& layer, const std::vector<double>& logits,
                                 const std::vector<std::int64_t>& targets) {
    const std::size_t classes = logits.size() / targets.size();
    std::string lines;
    for (std::size_t row = 0; row < targets.size(); ++row) {
        if (targets[row] < 0) continue;
        const double* const x = logits.data() + row * classes;
        const double right = x[targets[row]];
        double shares = 0;  // relative to the right one's, so small ones are included
        int rank = 1;
        for (std::size_t i = 0; i < classes; ++i) {
            shares += std::exp(x[i] - right);
            if (x[i] > right) ++rank;
        }
        lines +=
            fmt::format("{} {} {:.9g} {:.9g} {}\n", layer, row, std::log(shares), 1 / shares, rank);
    }
    return lines;
}

}  // namespace tapestry::test
