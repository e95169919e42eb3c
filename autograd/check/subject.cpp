#include <tapestry/autograd/check/subject.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/moved.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/jvp.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/create.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tapestry::checker {
namespace {

constexpr std::uint64_t kOwnStreams = 0x6772616463686b00U;

}  // namespace

std::vector<double> random_weights(std::size_t n, std::uint64_t seed) {
    Generator generator(seed ^ kOwnStreams);
    return randn({static_cast<std::int64_t>(n)}, generator, DType::f64).to_vector<double>();
}

std::vector<double> random_signs(std::size_t n, std::uint64_t seed) {
    constexpr std::size_t kMany = 4096;  // drawing 53 bits for each costs more than a cheap f
    Generator generator(seed ^ kOwnStreams);
    if (n > kMany) return drawn_signs(n, generator);
    const Tensor drawn = uniform({static_cast<std::int64_t>(n)}, -1, 1, generator, DType::f64);
    const double* const value = drawn.data<double>();
    std::vector<double> signs(n);
    for (std::size_t i = 0; i < n; ++i) signs[i] = value[i] < 0 ? -1 : 1;
    return signs;
}

std::vector<double> random_parts(std::size_t n, std::uint64_t seed) {
    Generator generator(seed ^ kOwnStreams);
    return drawn_parts(n, generator);
}

std::vector<double> with_shaken_bits(std::vector<double> x, std::uint64_t seed, int power) {
    shake(x, random_signs(x.size(), seed), std::ldexp(1, power));
    return x;
}

Subject::Subject(Function f, NamedTensors leaves)
    : f_([f = std::move(f)] {
          const RepeatedRun trial;
          return f();
      }),
      leaves_(std::move(leaves)) {
    for (const auto& [name, leaf] : leaves_) {
        require<DTypeError>(leaf.defined() && leaf.dtype() == DType::f64 && leaf.is_contiguous() &&
                                leaf.requires_grad(),
                            "gradcheck: {} is not a contiguous f64 tensor that requires a gradient",
                            name);
        here_.push_back(leaf.to_vector<double>());
    }
    boxes_.resize(leaves_.size());
    const GeneratorLog log;
    Tensors outputs;
    {
        Tape tape;
        outputs = f_();
    }
    generators_ = log.states();
    for (const auto& then : generators_) then.generator->set_state(then.seed, then.offset);
    for (const Tensor& y : outputs) {
        require<DTypeError>(y.defined() && y.dtype() == DType::f64,
                            "gradcheck: the function gave {}, not f64",
                            y.defined() ? name_of(y.dtype()) : "an undefined tensor");
        shapes_.push_back(y.shape());
        output_count_ += static_cast<std::size_t>(y.numel());
    }
}

void Subject::count_run() {
    if (budget_) budget_->spend();
    ++runs_;
}

Tensors Subject::outputs_on(Tape& tape) {
    const Recording recording(&tape);
    const RewindGuard frozen(generators_);
    count_run();
    Tensors outputs = f_();
    bool same = outputs.size() == shapes_.size();
    for (std::size_t i = 0; same && i < outputs.size(); ++i) {
        same = outputs[i].defined() && outputs[i].shape() == shapes_[i];
    }
    require(same, "gradcheck: the function returns different shapes when it runs again");
    return outputs;
}

Sample Subject::values_of(const Tensors& outputs) const {
    Sample sample;
    sample.values.reserve(output_count_);
    for (const Tensor& y : outputs) {
        const auto values = y.to_vector<double>();
        sample.values.insert(sample.values.end(), values.begin(), values.end());
    }
    return sample;
}

Sample Subject::run() {
    if (of_numbers_.f) {
        fill_numbers();
        Sample sample{value_of_numbers(), 0};
        require_usual(sample.values);
        return sample;
    }
    BranchTrace trace(false);
    Tape tape;
    Sample sample = values_of(outputs_on(tape));
    sample.branch = trace.branches.all;
    return sample;
}

Branches Subject::branches() {
    BranchTrace trace(true);
    Tape tape;
    outputs_on(tape);
    return std::move(trace.branches);
}

std::string Subject::first_other_branch(std::size_t which, const std::vector<double>& u, double t) {
    const Branches here = branches();
    Moved leaf(leaves_[which].second);
    leaf.to(u, t);
    Branches there;
    if (!where_defined([&] { there = branches(); })) return {};
    for (std::size_t i = 0; i < std::min(here.steps.size(), there.steps.size()); ++i) {
        if (here.steps[i].taken != there.steps[i].taken) return here.steps[i].op;
    }
    return {};
}

Tensors Subject::as_cotangents(const std::vector<double>& weights) const {
    Tensors cotangents;
    auto from = weights.begin();
    for (const Shape& shape : shapes_) {
        const auto end = from + static_cast<std::ptrdiff_t>(numel(shape));
        cotangents.push_back(tensor(std::vector<double>(from, end), shape));
        from = end;
    }
    return cotangents;
}

std::vector<std::vector<double>> Subject::gradient_of(Tape& tape, const Tensors& outputs,
                                                      const Values& weights) {
    Tensors asked;
    std::vector<Values> sums;
    for (const auto& [name, leaf] : leaves_) {
        asked.push_back(leaf);
        sums.emplace_back(static_cast<std::size_t>(leaf.numel()), 0.0);
    }
    const Tensors cotangents = as_cotangents(weights);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!tape.follows(outputs[i])) continue;
        const Tensors grads =
            tape.gradient(outputs[i], asked, {.cotangent = cotangents[i], .retain = true});
        for (std::size_t j = 0; j < grads.size(); ++j) {
            const Values grad = grads[j].to_vector<double>();
            for (std::size_t k = 0; k < grad.size(); ++k) sums[j][k] += grad[k];
        }
    }
    if (!same_bits(values_of(cotangents).values, weights)) overwritten_ = "its incoming gradient";
    return sums;
}

// Detects and undoes a rule's writes to its inputs, which would affect later runs.
void Subject::put_back(const std::vector<Values>& x) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        if (same_bits(leaves_[i].second.to_vector<double>(), x[i])) continue;
        overwritten_ = leaves_[i].first;
        std::copy(x[i].begin(), x[i].end(), leaves_[i].second.mutable_data<double>());
    }
}

std::vector<std::vector<std::vector<double>>> Subject::gradients(
    const std::vector<std::vector<double>>& weights) {
    std::vector<Values> x;
    if (of_numbers_.rule) return gradients_of_numbers(weights);
    for (const auto& [name, leaf] : leaves_) x.push_back(leaf.to_vector<double>());
    Tape tape;
    const Tensors outputs = outputs_on(tape);
    std::vector<std::vector<Values>> all;
    for (const Values& w : weights) all.push_back(gradient_of(tape, outputs, w));
    put_back(x);
    return all;
}

std::vector<std::vector<double>> Subject::gradient(const std::vector<double>& weights) {
    return gradients({weights}).front();
}

std::vector<std::vector<double>> Subject::recomputed_gradient(const std::vector<double>& weights) {
    Tape tape;
    const Tensors outputs =
        recompute([this, &tape](const Tensors&) { return outputs_on(tape); }, Tensors{});
    return gradient_of(tape, outputs, weights);
}

std::vector<double> Subject::jvp(std::size_t which, const std::vector<double>& u) {
    Tape tape;
    const Tensors outputs = outputs_on(tape);
    const Tensor& leaf = leaves_[which].second;
    return values_of(tapestry::jvp(tape, outputs, {leaf}, {tensor(u, leaf.shape())})).values;
}

void Subject::stay_near(const std::vector<Bounds>& bounds) {
    stays_near_ = true;
    boxes_ = Box::of(leaves_, bounds);
}

void Subject::stay_near_as(const Subject& whole, const Tensors& origins) {
    stays_near_ = whole.stays_near_;
    budget_ = whole.budget_;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
        for (std::size_t k = 0; k < whole.leaves_.size(); ++k) {
            const Tensor& leaf = whole.leaves_[k].second;
            const bool same =
                origins[i].storage() == leaf.storage() && origins[i].shape() == leaf.shape();
            if (same) boxes_[i] = whole.boxes_[k];
        }
    }
}

std::vector<Values> Subject::numbers() const {
    std::vector<Values> all;
    for (const auto& [name, leaf] : leaves_) all.push_back(leaf.to_vector<double>());
    return all;
}

// Where these numbers are: the one that has moved the most, relative to itself.
std::string Subject::place(const std::vector<Values>& numbers) const {
    std::string words;
    double most = 0;
    int others = -1;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
        const Values& x = numbers[leaf];
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double before = here_[leaf][i];
            if (x[i] == before) continue;
            ++others;
            const double by = std::abs(x[i] - before) / std::max(std::abs(before), 1e-300);
            if (!(by > most)) continue;
            most = by;
            words = fmt::format(
                "{} {} = {:.6g}", leaves_[leaf].first,
                index_text(leaves_[leaf].second.shape(), static_cast<std::int64_t>(i)), x[i]);
        }
    }
    return others > 0 ? words + " and others moved" : words;
}

// Other exceptions of the user's function (out of memory, bugs) are not caught here.
bool Subject::where_defined(const std::function<void()>& then,
                            const std::function<std::vector<Values>()>& numbers) {
    const auto note = [&](const char* what) {
        if (not_defined_.empty()) not_defined_ = fmt::format("{}: {}", place(numbers()), what);
    };
    try {
        then();
        return true;
    } catch (const std::domain_error& error) {
        note(error.what());
    } catch (const Error& error) {
        note(error.what());
    }
    return false;
}

std::optional<Sample> Subject::run_where_defined() {
    std::optional<Sample> sample;
    where_defined([&] { sample = run(); });
    return sample;
}

std::vector<double> Subject::direction(std::size_t which, std::uint64_t seed) {
    const Values& x = here_[which];
    return boxes_[which].inwards(x, random_direction(x, seed, typical(which)), seed + 1);
}

std::vector<double> Subject::own_sizes(std::size_t which) {
    Values sizes(here_[which].size(), 1.0);
    multiply_by_sizes(sizes, here_[which], typical(which));
    return sizes;
}

double Subject::typical(std::size_t which) {
    if (typical_.empty()) {
        for (const Values& x : here_) typical_.push_back(typical_size(x));
    }
    return typical_[which];
}

void Subject::moved(const Change& change, const std::function<void()>& then) {
    std::vector<std::unique_ptr<Moved>> all;
    for (const auto& [name, leaf] : leaves_) {
        auto at = std::make_unique<Moved>(leaf);
        const Values there = boxes_[all.size()].nearest(change(at->before(), all.size()));
        std::copy(there.begin(), there.end(), at->data());
        all.push_back(std::move(at));
    }
    then();
}

void Subject::shaken(std::uint64_t seed, const std::function<void()>& then) {
    moved([seed](const Values& x, std::size_t i) { return with_shaken_bits(x, seed + 1000 * i); },
          then);
}

void Subject::moved_along(const std::vector<Values>& u, double t,
                          const std::function<void()>& then) {
    const auto by = [&u, t](Values x, std::size_t leaf) {
        Values there(x.size());
        move_along(x, u[leaf], t, there);
        return there;
    };
    moved(by, then);
}

void Subject::shifted(std::size_t which, const std::function<void()>& then) {
    const auto by_a_little = [which](Values x, std::size_t leaf) {
        const double h = leaf == which ? std::ldexp(typical_size(x), -10) : 0;
        for (double& value : x) value += h;
        return x;
    };
    moved(by_a_little, then);
}

Neighbourhood Subject::look_around(std::uint64_t seed, int samples) {
    Neighbourhood around{.base = run(), .shaken = {}, .elsewhere = {}};
    branch_ = around.base.branch;
    for (int i = 0; i < samples; ++i) {
        shaken(seed + static_cast<std::uint64_t>(i), [&] {
            const auto there = run_where_defined();
            if (there && there->branch == around.base.branch) {
                around.shaken.push_back(there->values);
            }
        });
    }
    // Replaces every number by one of about its size: its half or its negative; a 0 by half a
    // typical one or its negative.
    for (const double factor : {-1.0, 0.5}) {
        if (stays_near_ && factor < 0) continue;
        const auto other = [this, factor](Values x, std::size_t leaf) {
            const double instead = typical(leaf);
            for (double& value : x) value = factor * (value == 0 ? instead : value);
            return x;
        };
        moved(other, [&] {
            if (const auto there = run_where_defined()) around.elsewhere.push_back(there->values);
        });
    }
    return around;
}

}  // namespace tapestry::checker
