// The picture behind a verdict: how far the difference quotient is from the claimed slope, for
// steps from large to small. A right gradient makes a V: truncation falls with h^2, then rounding
// rises with 1 / h. A wrong one ends on a plateau.
#pragma once

#include <tapestry/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry {

/// One step: |D(h) - claim|, and what rounding explains of it.
struct CurvePoint {
    double step;        ///< h
    double difference;  ///< |D(h) - claim|, where D is the difference quotient
    double noise;       ///< the part of it that rounding explains
};

/// The curve of one slope.
struct ErrorCurve {
    std::string title;               ///< name of the leaf
    double claimed = 0;              ///< the slope by the tape
    std::vector<CurvePoint> points;  ///< from the largest step to the smallest
};

/// Of the weighted outputs along a random direction of leaf `which`.
ErrorCurve error_curve(const std::function<Tensor()>& f, const NamedTensors& leaves,
                       std::size_t which = 0, std::uint64_t seed = 1);

/// A picture of curves, log against log, as an SVG document that needs nothing else.
std::string to_svg(const std::vector<ErrorCurve>& curves);

}  // namespace tapestry
