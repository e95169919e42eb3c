// Numbers of 16 bits between memory and kernels, and ops that compute with them in f32.
// Internal to ops.
//
// Kernels know f32 and f64 alone. What a chunk reads of bf16 or f16 is widened into memory of its
// own, computed with there by the same kernels as f32, and rounded once on its way back: from
// memory come half the bytes, and what is in between stays in the first caches. So an op's code is
// the same for all types, and costs what it did for those that need none of this:
//
//     visit_stored("softmax", x.dtype(), [&](auto zero) {
//         using T = decltype(zero);
//         ...
//             const Widened<T> in(from, n);     // T = float, double: from itself
//             const Narrowed<T> out(to, n);     //                    to itself
//             kernel(out.data(), in.data(), n);
//
// (Kernels of their own for these types were the other way. The sixty functors of elementwise.cpp
// alone take every compiler twenty seconds per type; and a pass through the first cache is little
// beside a read from memory.)
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/ops/cast.h>

#include <cstdint>

namespace tapestry {

/// Elements that are widened at a time, where many are: few, so that what is asked of memory for
/// the next ones arrives while these are computed with.
inline constexpr std::int64_t kStagedBlock = 512;

/// What is read next lies `ahead` of `from`: it comes from memory while these are computed with.
void widen(float* to, const Bf16* from, std::int64_t n, std::int64_t ahead = kStagedBlock);
void widen(float* to, const F16* from, std::int64_t n, std::int64_t ahead = kStagedBlock);
/// Rounded to nearest even.
void narrow(Bf16* to, const float* from, std::int64_t n);
void narrow(F16* to, const float* from, std::int64_t n);

/// `count` rows of `width` numbers, `row` apart, from and into rows side by side.
void widen_rows(float* to, const Bf16* from, std::int64_t row, std::int64_t count,
                std::int64_t width);
void widen_rows(float* to, const F16* from, std::int64_t row, std::int64_t count,
                std::int64_t width);
void narrow_rows(Bf16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width);
void narrow_rows(F16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width);

/// Room for n numbers, uninitialised, at the beginning of a cache line: memory that the thread
/// keeps, for chunks come by the thousand and malloc would take a thirtieth of the time. The latest
/// goes first, as what scopes hold does.
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

/// The n numbers at `from`, to be read as Compute<T>.
template <class T>
class Widened {
public:
    Widened(const T* from, std::int64_t /*n*/) : data_(from) {}
    const T* data() const { return data_; }

private:
    const T* data_;
};

template <class T>
requires kIsHalf<T>
class Widened<T> {
public:
    Widened(const T* from, std::int64_t n) : room_(n) { widen(room_.data(), from, n); }
    const float* data() const { return room_.data(); }

private:
    StagingRoom room_;
};

/// Room for n numbers as Compute<T>, uninitialised, that are at `to` when this goes.
template <class T>
class Narrowed {
public:
    Narrowed(T* to, std::int64_t /*n*/) : data_(to) {}
    T* data() const { return data_; }

private:
    T* data_;
};

template <class T>
requires kIsHalf<T>
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

/// For ops that have no way of their own for numbers of 16 bits: these are widened, the op is what
/// it is for f32, and its result is rounded, once. The tape holds three entries for it, and what
/// the op saves it saves as f32. For what no step of a training waits for.
/// f(x...) computed in f32, of the type of the first x. An undefined x stays so.
template <class F, class... X>
Tensor in_f32(const F& f, const Tensor& first, const X&... rest) {
    const auto wide = [](const Tensor& x) { return x.defined() ? to(x, DType::f32) : x; };
    return to(f(wide(first), wide(rest)...), first.dtype());
}

}  // namespace tapestry
