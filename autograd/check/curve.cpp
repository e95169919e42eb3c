#include <tapestry/autograd/check/curve.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/quotients.h>
#include <tapestry/core/create.h>
#include <tapestry/core/text/plot.h>
#include <tapestry/core/text/svg.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

using namespace checker;

ErrorCurve error_curve(const std::function<Tensor()>& f, const NamedTensors& leaves,
                       std::size_t which, std::uint64_t seed) {
    require<IndexError>(which < leaves.size(), "error_curve: no leaf {} among {}", which,
                        leaves.size());
    Subject subject([&f] { return Tensors{f()}; }, leaves);
    const auto weights = random_weights(subject.outputs(), seed);
    const auto x = leaves[which].second.to_vector<double>();
    const auto u = random_direction(x, seed);
    const Neighbourhood around = subject.look_around(seed);
    const ClaimedGradient gradient{weights, subject.gradient(weights)[which], {}};
    const Claim claim = claim_along(gradient, u);
    Line line = subject.along(which, u, 1);
    return {leaves[which].first, claim.slope, Quotients(line, weights, around).curve(claim.slope)};
}

std::string to_svg(const std::vector<ErrorCurve>& curves) {
    double least = 1e300, most = 1e-300;
    for (const ErrorCurve& curve : curves) {
        for (const CurvePoint& point : curve.points) {
            for (const double value : {point.difference, point.noise}) {
                if (!(value > 0) || !std::isfinite(value)) continue;
                least = std::min(least, value);
                most = std::max(most, value);
            }
        }
    }
    pictures::Plot plot{
        .title = "|difference quotient - claimed slope|; dashed: what rounding explains",
        .x = {.label = "step h", .log = true},
        .y = {.log = true}};
    if (least > most) {  // nothing to draw: an invisible point gives an empty frame
        least = most = 1;
        plot.series.push_back({.x = {1}, .y = {1}});
    }
    for (const ErrorCurve& curve : curves) {
        if (curve.points.empty()) continue;
        const int colour = static_cast<int>(plot.series.size() / 2) % pictures::kColours;
        pictures::Series difference{
            .name = fmt::format("{}, claimed {:.6g}", curve.title, curve.claimed),
            .colour = colour};
        pictures::Series noise{.dashed = true, .colour = colour};
        for (const CurvePoint& point : curve.points) {
            difference.x.push_back(point.step);
            difference.y.push_back(
                std::clamp(point.difference, least, most));  // 0 has no logarithm
            noise.x.push_back(point.step);
            noise.y.push_back(std::clamp(point.noise, least, most));
        }
        plot.series.push_back(difference);
        plot.series.push_back(noise);
    }
    return svg(plot);
}

}  // namespace tapestry
