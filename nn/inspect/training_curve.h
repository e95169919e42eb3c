// TrainingCurve: a number per training step, kept in bounded room. A training of a hundred thousand
// steps is seen on a screen of a thousand pixels, so neighbouring steps share a point, which knows
// their mean and how far they spread. Read next: nn/pages/report.h, whose curves these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tapestry {

/// The steps `first` to `last`, as far as they were added.
struct TrainingPoint {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;
    double mean = 0;
    double low = 0;   ///< the least of them
    double high = 0;  ///< the greatest
};

/// At most `most` points, of equally many values each (the latest may have fewer): when there are
/// more, every two neighbours become one. So there are never fewer than most / 2 once there were as
/// many, every value counts in exactly one point, and adding one takes constant time on the
/// average.
class TrainingCurve {
public:
    static constexpr std::size_t kMost = 1024;

    /// Throws ValueError unless `most` is even and at least 2.
    explicit TrainingCurve(std::size_t most = kMost);

    /// Steps ascend. A value that is not finite is left out: no axis has a place for it.
    void add(std::int64_t step, double value);

    std::span<const TrainingPoint> points() const { return points_; }

private:
    void halve();

    std::size_t most_;
    std::int64_t width_ = 1;  // values per point
    std::vector<TrainingPoint> points_;
};

}  // namespace tapestry
