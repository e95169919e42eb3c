// Lines through x, and f and its rule on plain numbers.
#include <tapestry/autograd/check/subject.h>

#include <tapestry/autograd/check/long_vectors.h>
#include <tapestry/autograd/check/moved.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/generator_log.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace tapestry::checker {

// The value for numbers_, in the same conditions as outputs_on().
Values Subject::value_of_numbers() {
    const RewindGuard frozen(generators_);
    const RepeatedRun trial;
    count_run();
    return of_numbers_.f(numbers_);
}

void Subject::require_usual(const Values& values) const {
    require(values.size() == output_count_,
            "gradcheck: the function returns different shapes when it runs again");
}

// Before each call, because a callback may write to them.
void Subject::fill_numbers() {
    numbers_.resize(leaves_.size());
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        const Tensor& leaf = leaves_[i].second;
        numbers_[i].assign(leaf.data<double>(), leaf.data<double>() + leaf.numel());
    }
}

std::vector<std::vector<Values>> Subject::gradients_of_numbers(const std::vector<Values>& weights) {
    fill_numbers();
    require_usual(value_of_numbers());  // a rule may need what f leaves behind
    std::vector<std::vector<Values>> all;
    for (const Values& w : weights) {
        fill_numbers();
        cotangent_ = w;
        all.push_back(of_numbers_.rule(numbers_, cotangent_));
    }
    return all;
}

// Lines share the numbers that they begin at.
std::shared_ptr<const Values> Subject::beginning(std::size_t which) {
    beginnings_.resize(leaves_.size());
    auto& known = beginnings_[which];
    const Tensor& leaf = leaves_[which].second;
    const auto bytes = static_cast<std::size_t>(leaf.numel()) * sizeof(double);
    if (known == nullptr || std::memcmp(known->data(), leaf.data<double>(), bytes) != 0) {
        known = std::make_shared<const Values>(leaf.to_vector<double>());
    }
    return known;
}

namespace {

// Whether every number of scale * u has few digits.
bool has_few_digits(const Values& u, double scale) {
    constexpr double kFew = 0x1p12;
    return std::all_of(u.begin(), u.end(), [scale](double by) {
        int exponent = 0;
        const double digits = kFew * std::frexp(scale * by, &exponent);
        return digits == std::trunc(digits);
    });
}

}  // namespace

Line Subject::along(std::size_t which, std::vector<double> u, double scale) {
    return along(which, std::make_shared<const Values>(std::move(u)), scale);
}

Line Subject::along(std::size_t which, std::shared_ptr<const std::vector<double>> u, double scale) {
    auto x = beginning(which);
    Reach reach = boxes_[which].reach(*x, *u);
    if (stays_near_) {
        reach = {std::min(reach.below, scale / 2), std::min(reach.above, scale / 2)};
    }
    const bool even = has_few_digits(*u, scale);
    auto at = [this, which, x = std::move(x), u = std::move(u)](double t) {
        return values_along(which, *x, *u, t);
    };
    Line line(std::move(at), scale, reach);
    line.set_even(even);
    return line;
}

Sample Subject::values_along(std::size_t which, const Values& x, const Values& u, double t) {
    const auto nowhere = [this] {
        return Sample{Values(output_count_, std::numeric_limits<double>::quiet_NaN()), branch_};
    };
    if (!of_numbers_.f) {
        Moved leaf(leaves_[which].second, x);
        leaf.to(u, t);
        if (boxes_[which].contains({leaf.data(), x.size()})) {
            if (auto sample = run_where_defined()) return *std::move(sample);
        }
        return nowhere();
    }
    // A callback may have written to them.
    numbers_.resize(here_.size());
    for (std::size_t i = 0; i < here_.size(); ++i) {
        if (i != which) numbers_[i] = here_[i];
    }
    move_along(x, u, t, numbers_[which]);
    if (!boxes_[which].contains(numbers_[which])) return nowhere();
    Sample sample{{}, branch_};
    const auto evaluate = [&] { sample.values = value_of_numbers(); };
    if (!where_defined(evaluate, [this] { return numbers_; })) return nowhere();
    require_usual(sample.values);
    return sample;
}

}  // namespace tapestry::checker
