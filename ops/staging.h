// Staging of narrow (bf16, f16) data for f32 kernels, and ops computed in f32.
// Internal to ops.
//
// Kernels only know f32 and f64. The narrow data of a chunk is widened into a thread's buffer,
// processed there by the f32 kernels, and rounded once when written back: memory traffic is half,
// and the buffer stays in L1. So an op's code is the same for all dtypes, with no overhead for f32
// and f64:
//
//     visit_stored("softmax", x.dtype(), [&](auto zero) {
//         using T = decltype(zero);
//         ...
//             const Widened<T> in(from, n);     // T = float, double: from itself
//             const Narrowed<T> out(to, n);     //                    to itself
//             kernel(out.data(), in.data(), n);
//
// (The alternative, kernels for these dtypes, would cost 20 seconds of compile time per dtype for
// the 60 functors of elementwise.cpp, and a pass through L1 is cheap compared with a read from
// memory.)
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <cstdint>

namespace tapestry {

/// Elements widened at a time: few, so the next block is prefetched while the current one is
/// computed.
inline constexpr std::int64_t kStagedBlock = 512;

/// Widens n numbers. bf16, the type of training, has kernels, which prefetch the numbers `ahead`
/// elements further on; other types are converted one by one, out of line because that is long.
void widen(float* to, const Bf16* from, std::int64_t n, std::int64_t ahead = kStagedBlock);
template <class T>
[[gnu::noinline, gnu::flatten]] void widen(float* to, const T* from, std::int64_t n,
                                           std::int64_t /*ahead*/ = kStagedBlock) {
    std::copy(from, from + n, to);
}
/// Rounds to nearest, ties to even.
void narrow(Bf16* to, const float* from, std::int64_t n);
template <class T>
[[gnu::noinline, gnu::flatten]] void narrow(T* to, const float* from, std::int64_t n) {
    std::transform(from, from + n, to, [](float x) { return T(x); });
}

/// Widens `count` rows of `width` numbers, `row` apart, into adjacent rows; narrow_rows is the
/// reverse.
void widen_rows(float* to, const Bf16* from, std::int64_t row, std::int64_t count,
                std::int64_t width);
template <class T>
void widen_rows(float* to, const T* from, std::int64_t row, std::int64_t count,
                std::int64_t width) {
    for (std::int64_t i = 0; i < count; ++i) widen(to + i * width, from + i * row, width);
}
void narrow_rows(Bf16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width);
template <class T>
void narrow_rows(T* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width) {
    for (std::int64_t i = 0; i < count; ++i) narrow(to + i * row, from + i * width, width);
}

/// A buffer for n numbers, uninitialised and aligned to a cache line, from memory that the thread
/// keeps: with thousands of chunks malloc would take 3% of the time. Buffers must be released in
/// reverse order, as scopes do.
class StagingRoom {
public:
    explicit StagingRoom(std::int64_t n);
    StagingRoom(const StagingRoom&) = delete;
    StagingRoom& operator=(const StagingRoom&) = delete;
    ~StagingRoom();
    float* data() const { return data_; }

private:
    std::int64_t n_;
    float* data_;
};

/// The n numbers at `from`, readable as Compute<T>.
template <class T>
class Widened {
public:
    Widened(const T* from, std::int64_t /*n*/) : data_(from) {}
    const T* data() const { return data_; }

private:
    const T* data_;
};

template <class T>
requires kIsNarrow<T>
class Widened<T> {
public:
    Widened(const T* from, std::int64_t n) : room_(n) { widen(room_.data(), from, n); }
    const float* data() const { return room_.data(); }

private:
    StagingRoom room_;
};

/// A buffer for n numbers as Compute<T>, uninitialised; the destructor writes them to `to`.
template <class T>
class Narrowed {
public:
    Narrowed(T* to, std::int64_t /*n*/) : data_(to) {}
    T* data() const { return data_; }

private:
    T* data_;
};

template <class T>
requires kIsNarrow<T>
class Narrowed<T> {
public:
    Narrowed(T* to, std::int64_t n) : room_(n), to_(to), n_(n) {}
    Narrowed(const Narrowed&) = delete;
    Narrowed& operator=(const Narrowed&) = delete;
    ~Narrowed() { narrow(to_, room_.data(), n_); }
    float* data() const { return room_.data(); }

private:
    StagingRoom room_;
    T* to_;
    std::int64_t n_;
};

/// For ops without half-precision code that training steps do not depend on: inputs are widened,
/// the op runs in f32, and its result is rounded once. This records three tape entries, and the op
/// saves f32 tensors. f(x...) computed in f32, converted to the dtype of the first x. An undefined
/// x stays undefined.
template <class F, class... X>
Tensor in_f32(const F& f, const Tensor& first, const X&... rest) {
    const auto wide = [](const Tensor& x) { return x.defined() ? to(x, DType::f32) : x; };
    return to(f(wide(first), wide(rest)...), first.dtype());
}

}  // namespace tapestry
