// The keys and values of earlier tokens, cached while a text is generated one token at a time; they
// do not depend on later tokens. With them, token t costs one row of work instead of t.
#pragma once

#include <tapestry/core/tensor.h>

namespace tapestry {

/// The keys and values of the tokens that one attention module has seen.
class KeyValueCache {
public:
    bool empty() const { return length_ == 0; }      ///< whether it has seen none
    std::int64_t length() const { return length_; }  ///< number of tokens seen, S

    /// Appends keys [B, H, T, D] and values [B, H, T, E] of the next T tokens. They are constants:
    /// throws AutogradError if a tape records them. Throws ShapeError if they do not match the
    /// earlier ones.
    void append(const Tensor& keys, const Tensor& values);

    Tensor keys() const;    ///< [B, H, length, D]
    Tensor values() const;  ///< [B, H, length, E]

    /// Replaces sequence i by a copy of sequence rows[i], i64 [B'], for beam search, where one
    /// prefix may have several continuations. Throws IndexError for a row outside [0, B).
    void select(const Tensor& rows);

    /// Ids of the last tokens, i64 [B, n], for models that use them outside attention; reordered
    /// with their sequences. Undefined if not set.
    const Tensor& latest() const { return latest_; }
    /// Sets the ids, one row per sequence.
    void set_latest(const Tensor& ids) { latest_ = ids; }

    /// Forgets everything, to begin other sequences.
    void clear() { *this = KeyValueCache(); }

private:
    Tensor keys_, values_;  // [B, H, capacity, D], doubled when full
    Tensor latest_;
    std::int64_t length_ = 0;
};

}  // namespace tapestry
