// Constants of a module that grow with the sequence: made for the longest so far, and twice as long
// when a longer one comes.
#pragma once

#include <tapestry/core/tensor.h>

#include <functional>
#include <mutex>

namespace tapestry {

/// Any number of threads may ask for it at once.
class GrownTable {
public:
    /// Tables for `length` positions.
    using Make = std::function<Tensors(std::int64_t length, DType dtype)>;
    explicit GrownTable(Make make) : make_(std::move(make)) {}

    /// Those for `length` positions, or for more.
    Tensors at_least(std::int64_t length, DType dtype) const;

private:
    Make make_;
    mutable std::mutex mutex_;
    mutable std::int64_t length_ = 0;
    mutable Tensors tables_;
};

}  // namespace tapestry
