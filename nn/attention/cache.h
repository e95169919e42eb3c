// What attention remembers of earlier tokens while a text is written one token at a time: their
// keys and values, which do not depend on what comes later. So that token t costs one row of work
// instead of t.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

class KeyValueCache {
public:
    bool empty() const { return length_ == 0; }
    std::int64_t length() const { return length_; }

    /// Adds keys [B, H, T, D] and values [B, H, T, E] of the next T tokens. Constants: throws
    /// AutogradError if a tape follows them. Throws ShapeError if they do not go with the earlier
    /// ones.
    void append(const Tensor& keys, const Tensor& values);

    Tensor keys() const;    ///< [B, H, length, D]
    Tensor values() const;  ///< [B, H, length, E]

    /// Sequence i becomes a copy of sequence rows[i]: i64 [B']. For beam search, where one
    /// beginning may have several continuations. Throws IndexError for a row outside [0, B).
    void select(const Tensor& rows);

    /// Ids of the last tokens, i64 [B, n], for a model that looks at them besides attention; kept
    /// with the sequences they belong to. Undefined: nobody did.
    const Tensor& latest() const { return latest_; }
    void set_latest(const Tensor& ids) { latest_ = ids; }

    void clear() { *this = KeyValueCache(); }

private:
    Tensor keys_, values_;  // [B, H, capacity, D], doubled when full
    Tensor latest_;
    std::int64_t length_ = 0;
};

}  // namespace tapestry
