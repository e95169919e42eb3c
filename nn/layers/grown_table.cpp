#include <tapestry/nn/layers/grown_table.h>

#include <algorithm>

namespace tapestry {

Tensors GrownTable::at_least(std::int64_t length, DType dtype) const {
    const std::lock_guard lock(mutex_);
    if (tables_.empty() || length_ < length || tables_.front().dtype() != dtype) {
        length_ = std::max(length, tables_.empty() ? length : 2 * length_);
        tables_ = make_(length_, dtype);
    }
    return tables_;
}

}  // namespace tapestry
