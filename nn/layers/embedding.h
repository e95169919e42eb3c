// A table of vectors, looked up by number.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

/// ids i64 [...] -> [..., dim]: row ids[i] of weight [count, dim], which is normal at the start.
class Embedding : public Module {
public:
    Tensor weight;  // [count, dim]

    /// Throws ValueError unless both sizes are positive.
    Embedding(std::int64_t count, std::int64_t dim, Generator& generator = default_generator());

    /// Throws IndexError for an id outside [0, count).
    Tensor operator()(const Tensor& ids) const;
    std::string settings() const override;
};

}  // namespace tapestry
