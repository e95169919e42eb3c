#include <tapestry/nn/recurrent/lengths.h>

#include <tapestry/ops/check.h>

namespace tapestry {

std::vector<std::int64_t> checked_lengths(std::string_view owner, const Tensor& lengths,
                                          std::int64_t batch, std::int64_t steps) {
    check_dtype(fmt::format("{}: lengths", owner), lengths, DType::i64);
    require<ShapeError>(lengths.shape() == Shape{batch},
                        "{}: needs one length per sequence, [{}], got {}", owner, batch,
                        lengths.shape());
    auto values = lengths.to_vector<std::int64_t>();
    for (std::size_t b = 0; b < values.size(); ++b) {
        require(values[b] >= 1 && values[b] <= steps, "{}: lengths[{}] is {}, not from 1 to {}",
                owner, b, values[b], steps);
    }
    return values;
}

}  // namespace tapestry
