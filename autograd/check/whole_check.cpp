// A check as the call that repeats it, and a check at several points.
#include <tapestry/autograd/check/whole_check.h>

#include <tapestry/autograd/check/limits.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tapestry {
namespace {

std::string_view name_of(GradcheckMethod method) {
    switch (method) {
        case GradcheckMethod::automatic: return "automatic";
        case GradcheckMethod::jacobian: return "jacobian";
        case GradcheckMethod::entries: return "entries";
        case GradcheckMethod::directions: return "directions";
    }
    return {};
}

class Fields {
public:
    template <class T>
    void add(const char* name, const T& value, const T& usual) {
        if (value != usual) add(name, fmt::format("{}", value));
    }
    void add(const char* name, const std::optional<double>& value) {
        if (value) add(name, fmt::format("{}", *value));
    }
    void add(const char* name, const std::string& value) {
        all_.push_back(fmt::format(".{} = {}", name, value));
    }
    std::string text() const {
        return all_.empty() ? "" : fmt::format("{{{}}}", fmt::join(all_, ", "));
    }

private:
    std::vector<std::string> all_;
};

std::string text_of(const std::vector<Bounds>& bounds) {
    constexpr std::size_t kFew = 16;
    if (bounds.size() > kFew) return "bounds";
    std::vector<std::string> each;
    for (const Bounds& b : bounds) each.push_back(fmt::format("{{{}, {}}}", b.low, b.high));
    return fmt::format("{{{}}}", fmt::join(each, ", "));
}

std::string text_of(const GradcheckLimits& limits) {
    const GradcheckLimits usual;
    Fields fields;
    fields.add("resolution", limits.resolution, usual.resolution);
    fields.add("safety", limits.safety, usual.safety);
    fields.add("agreement", limits.agreement, usual.agreement);
    fields.add("approximation", limits.approximation, usual.approximation);
    fields.add("lost_may_pass", limits.lost_may_pass, usual.lost_may_pass);
    fields.add("exact", limits.exact, usual.exact);
    fields.add("evaluations", limits.evaluations, usual.evaluations);
    fields.add("seconds", limits.seconds, usual.seconds);
    return fields.text();
}

}  // namespace

// In the order of the struct, as C++ requires.
std::string to_string(const GradcheckOptions& options) {
    const GradcheckOptions usual;
    Fields fields;
    if (options.method != usual.method) {
        fields.add("method", fmt::format("GradcheckMethod::{}", name_of(options.method)));
    }
    fields.add("certainty", options.certainty, usual.certainty);
    fields.add("eps", options.eps);
    fields.add("atol", options.atol);
    fields.add("rtol", options.rtol);
    fields.add("far_steps", options.far_steps, usual.far_steps);
    if (!options.bounds.empty()) fields.add("bounds", text_of(options.bounds));
    fields.add("points", options.points, usual.points);
    if (options.reset) fields.add("reset", std::string("reset"));
    fields.add("differences", options.differences, usual.differences);
    if (options.dual) fields.add("dual", std::string("dual"));
    fields.add("transpose", options.transpose, usual.transpose);
    fields.add("preconditions", options.preconditions, usual.preconditions);
    fields.add("explain", options.explain, usual.explain);
    if (options.format != usual.format) {
        fields.add("format", fmt::format("Format::{}", to_string(options.format)));
    }
    fields.add("noise", options.noise, usual.noise);
    fields.add("relative_noise", options.relative_noise, usual.relative_noise);
    if (const std::string limits = text_of(options.limits); !limits.empty()) {
        fields.add("limits", limits);
    }
    fields.add("seed", options.seed, usual.seed);
    return fields.text();
}

std::string checker::call_text(const std::string& call, const GradcheckOptions& options) {
    const std::string text = to_string(options);
    std::string all = call;
    return all.replace(all.find("{}"), 2, text.empty() ? "" : ", " + text);
}

}  // namespace tapestry

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

// Restores the leaves on any exit from the scope.
class Restored {
public:
    explicit Restored(NamedTensors leaves) : leaves_(std::move(leaves)) {
        for (const auto& [name, leaf] : leaves_) before_.push_back(leaf.to_vector<double>());
    }
    ~Restored() {
        for (std::size_t i = 0; i < leaves_.size(); ++i) place(i, before_[i]);
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

    // `part`: the largest move of a number, relative to its size.
    void move(const std::vector<Box>& boxes, double part, std::uint64_t seed) {
        for (std::size_t i = 0; i < leaves_.size(); ++i) {
            Generator generator(seed + 1000 * i);
            Values x = before_[i];
            const double typical = typical_size(x);
            const auto by =
                uniform({static_cast<std::int64_t>(x.size())}, -part, part, generator, DType::f64)
                    .to_vector<double>();
            for (std::size_t k = 0; k < x.size(); ++k) {
                x[k] += by[k] * (x[k] == 0 ? typical : std::abs(x[k]));
            }
            place(i, boxes[i].nearest(x));
        }
    }

private:
    void place(std::size_t i, const Values& x) {
        std::copy(x.begin(), x.end(), leaves_[i].second.mutable_data<double>());
    }
    NamedTensors leaves_;
    std::vector<Values> before_;
};

// The first numbers of the first inputs: enough to recognise a point.
std::vector<Values> beginning_of(const NamedTensors& leaves) {
    constexpr std::size_t kInputs = 16, kNumbers = 16;
    std::vector<Values> first;
    for (std::size_t i = 0; i < std::min(kInputs, leaves.size()); ++i) {
        Values x = leaves[i].second.to_vector<double>();
        x.resize(std::min(kNumbers, x.size()));
        first.push_back(std::move(x));
    }
    return first;
}

std::optional<GradcheckReport> if_defined(const std::function<GradcheckReport()>& check) {
    try {
        return check();
    } catch (const std::domain_error&) {
    } catch (const Error&) {
    }
    return {};
}

GradcheckReport at_random_point(const NamedTensors& leaves, const std::vector<Box>& boxes,
                                std::uint64_t seed, const std::function<GradcheckReport()>& check,
                                PointReport& point) {
    Restored restored(leaves);
    for (const double part : {0.5, 0.125, 0.03125}) {
        restored.move(boxes, part, seed);
        point.starts_with = beginning_of(leaves);
        if (auto report = if_defined(check)) return *std::move(report);
    }
    GradcheckReport none;
    none.verdict = Verdict::inconclusive;
    none.reason = Reason::not_finite;
    none.complaints = {"the function is not defined at a random point"};
    return none;
}

}  // namespace

GradcheckReport check_points(const NamedTensors& leaves, const GradcheckOptions& options,
                             const std::function<GradcheckReport()>& check) {
    require(options.points > 0, "gradcheck: points must be positive, got {}", options.points);
    std::vector<PointReport> points{{.what = "x", .starts_with = beginning_of(leaves)}};
    const std::vector<Box> boxes = Box::of(leaves, options.bounds);
    GradcheckReport worst = check();
    points[0].verdict = worst.verdict;
    points[0].reason = worst.reason;
    int runs = worst.runs;
    bool is_over = !worst.limit.empty();  // the limits are of all points together
    for (int i = 2; i <= options.points && !is_over; ++i) {
        PointReport& point = points.emplace_back();
        point.what = fmt::format("random point {}", i);
        GradcheckReport report = at_random_point(
            leaves, boxes, options.seed + static_cast<std::uint64_t>(i), check, point);
        point.verdict = report.verdict;
        point.reason = report.reason;
        runs += report.runs;
        is_over = !report.limit.empty();
        if (is_over && i < options.points) {
            point.what += fmt::format(" and the {} after it", options.points - i);
        }
        if (report.verdict > worst.verdict) worst = std::move(report);
    }
    worst.points = std::move(points);
    worst.runs = runs;
    return worst;
}

}  // namespace tapestry::checker
