// u = (x - mean) rstd of a row, for layer, RMS, batch and group norm. Included only by kernel
// files.
//
// A row whose squares leave the range of the type is scaled by a power of two. If its mean is many
// deviations from zero, what the rounded mean lost is subtracted as well (the corrected two-pass
// algorithm: Chan, Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance"). Other
// rows take one subtraction and one product per number.
#pragma once

#include <tapestry/ops/kernels/reduce_row.h>
#include <tapestry/ops/kernels/simd.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// A power of two that keeps the squares of the largest numbers in the range; its inverse does so
/// for the smallest.
template <class T>
inline constexpr T kDown = static_cast<T>(sizeof(T) == 4 ? 0x1p-100 : 0x1p-600);
/// Squares below have lost digits to underflow, if not all.
template <class T>
inline constexpr T kLeastVariance = static_cast<T>(sizeof(T) == 4 ? 0x1p-100 : 0x1p-800);
/// How many deviations from zero a mean may be before its rounding, which shifts all of u by up to
/// as many half units in the last place of 1, is corrected.
template <class T>
inline constexpr T kFar = 32;

template <class T>
inline T reciprocal_root(T x) {
    return (Batch<T>(T(1)) / sqrt(Batch<T>(x))).get(0);
}

/// (x - centre) scale
template <class T, bool kHasMean = true>
struct OrdinaryUnit {
    OrdinaryUnit(T mean, T rstd) : centre(mean), scale(rstd) {}
    Batch<T> operator()(const Batch<T>& x) const {
        return kHasMean ? (x - centre) * scale : x * scale;
    }
    Batch<T> centre, scale;
};

/// (x down - centre - rest) scale
template <class T>
struct CarefulUnit {
    Batch<T> operator()(const Batch<T>& x) const { return (x * down - centre - rest) * scale; }
    Batch<T> down, centre, rest, scale;
};

/// x down - centre, or its square. The centre is a number of the row's type times `down`, a power
/// of two, so the padding of a tail gives 0.
template <class T, bool kSquared>
struct Deviation {
    Deviation(T by, T from) : down(by), centre(from), fill(from / by) {}
    Batch<T> operator()(const Batch<T>& x) const {
        const Batch<T> d = x * down - centre;
        return kSquared ? d * d : d;
    }
    Batch<T> down, centre;
    T fill;
};

template <class T>
struct Statistics {
    T mean, variance, rstd;  ///< rstd = 1 / sqrt(variance + eps)
};

template <class T>
inline bool is_ordinary(const Statistics<T>& s, T eps) {
    const T size = s.mean < 0 ? -s.mean : s.mean;
    return s.variance < static_cast<T>(__builtin_inf()) && s.variance + eps >= kLeastVariance<T> &&
           size * s.rstd <= kFar<T>;
}

/// The unit of a row that is not ordinary, and its statistics. average(map) is the average of
/// map(x) over the row.
template <bool kHasMean, class T, class Average>
CarefulUnit<T> careful_unit(Statistics<T>& s, T eps, const Average& average) {
    const bool overflowed = !(s.variance < static_cast<T>(__builtin_inf()));
    const bool vanished = !overflowed && s.variance + eps < kLeastVariance<T>;
    const T down = overflowed ? kDown<T> : vanished ? 1 / kDown<T> : T(1);
    T centre = 0, rest = 0;
    if constexpr (kHasMean) {
        centre = average(Deviation<T, false>(down, T(0)));
        centre += average(Deviation<T, false>(down, centre));
        rest = average(Deviation<T, false>(down, centre));
    }
    const T squares = average(Deviation<T, true>(down, centre)) - rest * rest;
    const T variance = squares < 0 ? T(0) : squares;
    // eps down^2 may underflow, and is then nothing next to a variance, but not next to 0.
    const T rstd =
        variance > 0 ? reciprocal_root(variance + eps * down * down) : reciprocal_root(eps) / down;
    s = {centre / down, variance / down / down, rstd * down};
    return {Batch<T>(down), Batch<T>(centre), Batch<T>(rest), Batch<T>(rstd)};
}

/// Whether a row whose mean and rstd were saved needs such a unit in the backward pass.
template <class T>
inline bool is_far(T mean, T rstd) {
    const T size = mean < 0 ? -mean : mean;
    return !(size * rstd <= kFar<T>) || rstd < kDown<T> * T(0x1p36);
}

template <class T, class Average>
CarefulUnit<T> saved_careful_unit(T mean, T rstd, const Average& average) {
    const T down = rstd < kDown<T> * T(0x1p36) ? kDown<T> : T(1);
    const T centre = mean * down;
    const T rest = average(Deviation<T, false>(down, centre));
    return {Batch<T>(down), Batch<T>(centre), Batch<T>(rest), Batch<T>(rstd / down)};
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
