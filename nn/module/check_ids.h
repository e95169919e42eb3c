// Checks on token ids, shared by the models and the code that prepares their data. Internal to nn.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// Throws, naming `model`, unless `ids` is i64 [B, T] with B, T >= 1 (ShapeError, DTypeError).
inline void check_ids(const char* model, const char* what, const Tensor& ids) {
    require<ShapeError>(ids.defined() && ids.rank() == 2, "{}: needs {} [B, T], got {}", model,
                        what, ids.shape());
    require<DTypeError>(ids.dtype() == DType::i64, "{}: needs {} of type i64, got {}", model, what,
                        ids.dtype());
    require<ShapeError>(ids.size(0) > 0, "{}: {} {} are an empty batch", model, what, ids.shape());
    require<ShapeError>(ids.size(1) > 0, "{}: {} {} are empty sequences", model, what, ids.shape());
}

}  // namespace tapestry
