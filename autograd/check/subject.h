// The function under test as the checker sees it: numbers in, numbers out, and the branches taken.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/limits.h>
#include <tapestry/autograd/check/slope.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/generator_log.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::checker {

/// Random signs, and normal numbers, from separate streams: the caller may have drawn the inputs
/// from a Generator with the same seed, and weights equal to the inputs would detect little.
std::vector<double> random_signs(std::size_t n, std::uint64_t seed);
std::vector<double> random_weights(std::size_t n, std::uint64_t seed);
/// Evenly distributed between -1 and 1.
std::vector<double> random_parts(std::size_t n, std::uint64_t seed);

/// x, every number moved by 2^-51 (2^power) of itself, up or down at random: an error that rounding
/// may have caused before.
std::vector<double> with_shaken_bits(std::vector<double> x, std::uint64_t seed, int power = -51);

// ---- branches (branch_trace.cpp) ----------------------------------------------------------------

/// The branches that a run took, op by op, seen from outside.
struct Branches {
    struct Step {
        std::string op;  ///< "relu (#3, ffn)"; empty unless names were requested
        std::uint64_t taken;
    };
    std::vector<Step> steps;
    std::uint64_t all = 0;      ///< hash of the whole run: its ops and their decisions
    std::uint64_t decided = 0;  ///< hash of the decisions only
};

/// Observes a run. Every decision of an op is an integer or boolean tensor: its own decisions
/// (Op::decisions), and operands decided by others, an argmax or a comparison.
class BranchTrace final : public TapeObserver {
public:
    explicit BranchTrace(bool named) : named_(named) {}
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;

    Branches branches;

private:
    bool named_;
    bool busy_ = false;
};

// ---- the function -------------------------------------------------------------------------------

class Subject {
public:
    using Function = std::function<Tensors()>;

    /// f() computes from the current values of the leaves (f64, contiguous, requires_grad);
    /// anything else it reads must not change. It draws the same random numbers in every run; in
    /// the end the generators have the state that they had at first. Throws DTypeError if f returns
    /// anything but f64.
    Subject(Function f, NamedTensors leaves);
    /// Restores leaves that a backward rule has written to.
    ~Subject() {
        if (!overwritten_.empty()) put_back(here_);
    }
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;

    /// Only calls f near x, as plain functions require: no step is longer than half of x's own
    /// size, and no number leaves its bounds. Throws what Box::of() throws.
    void stay_near(const std::vector<Bounds>& bounds);
    /// The same f, and its rule, on the numbers of all leaves, if nothing else is on the tape:
    /// for a million numbers this spares copies that cost as much as a cheap f.
    struct OfNumbers {
        using Inputs = std::vector<std::vector<double>>;
        std::function<std::vector<double>(const Inputs& x)> f = {};
        std::function<Inputs(const Inputs& x, const std::vector<double>& weights)> rule = {};
    };
    void set_of_numbers(OfNumbers both) { of_numbers_ = std::move(both); }
    /// Every evaluation counts against `budget`, which throws Budget::Spent; without one there is
    /// no limit.
    void set_budget(std::shared_ptr<Budget> budget) { budget_ = std::move(budget); }
    /// Applies the settings and the budget of `whole`, of which this is a part: a leaf whose tensor
    /// in `origins` is a leaf of `whole` takes the bounds of that leaf.
    void stay_near_as(const Subject& whole, const Tensors& origins);

    /// Calls `then` where f may be undefined: returns false if it throws std::domain_error or an
    /// Error of the library. Any other exception propagates.
    bool where_defined(const std::function<void()>& then) {
        return where_defined(then, [this] { return numbers(); });
    }
    /// The first such exception, and where: "x [3] = -0.5: log of a negative number".
    const std::string& not_defined() const { return not_defined_; }

    /// The name of what a backward rule has overwritten, which it must not do; empty if nothing.
    const std::string& overwritten() const { return overwritten_; }

    const NamedTensors& leaves() const { return leaves_; }
    std::size_t outputs() const { return output_count_; }
    const std::vector<Shape>& output_shapes() const { return shapes_; }
    int runs() const { return runs_; }

    /// All outputs, concatenated, and the branches taken.
    Sample run();
    /// The same; nullopt if f throws because it is not defined there.
    std::optional<Sample> run_where_defined();
    /// The branches of a run, with the ops named.
    Branches branches();
    /// The first op at which f takes another branch than at its leaves' present values when leaf
    /// `which` moves to x + t u; empty if there is none.
    std::string first_other_branch(std::size_t which, const std::vector<double>& u, double t);

    /// weights^T df/d(leaf), for each leaf; zeros if f does not depend on it.
    std::vector<std::vector<double>> gradient(const std::vector<double>& weights);
    /// The same for several weights, with one forward pass: [weights][leaf][element].
    std::vector<std::vector<std::vector<double>>> gradients(
        const std::vector<std::vector<double>>& weights);
    /// gradient(), with f run inside recompute().
    std::vector<std::vector<double>> recomputed_gradient(const std::vector<double>& weights);
    /// df/d(leaf `which`) u, only by the rules: <v, J u> is the derivative of v^T J u with respect
    /// to v.
    std::vector<double> jvp(std::size_t which, const std::vector<double>& u);

    /// f at x + t u, where u is added to leaf `which`.
    Line along(std::size_t which, std::vector<double> u, double scale);
    Line along(std::size_t which, std::shared_ptr<const std::vector<double>> u, double scale);
    /// A random direction for leaf `which`, pointing inwards where it is on a bound.
    std::vector<double> direction(std::size_t which, std::uint64_t seed);
    /// The size of each number of leaf `which`, or the typical size if that is larger.
    std::vector<double> own_sizes(std::size_t which);
    /// Whether the numbers of leaf `which` have bounds.
    bool is_bounded(std::size_t which) const { return boxes_[which].is_bounded(); }
    /// f here and with the last bits of all leaves changed at random; changes that take another
    /// branch are omitted.
    Neighbourhood look_around(std::uint64_t seed, int samples = 4);

    /// Shakes the bits of every leaf (within bounds), calls `then`, restores them.
    void shaken(std::uint64_t seed, const std::function<void()>& then);

    /// Moves all leaves by t u (within bounds), calls `then`, restores them.
    void moved_along(const std::vector<std::vector<double>>& u, double t,
                     const std::function<void()>& then);

    /// Moves all numbers of leaf `which` a little (within bounds), calls `then`, restores them.
    void shifted(std::size_t which, const std::function<void()>& then);

    /// f under the same conditions as in run(), for observers: with a tape and the frozen
    /// generators, and nothing else.
    Tensors outputs_on(Tape& tape);
    /// `weights` as cotangents, one per output.
    Tensors as_cotangents(const std::vector<double>& weights) const;

    /// typical_size() of a leaf at x.
    double typical(std::size_t which);

private:
    using Values = std::vector<double>;
    using Change = std::function<Values(const Values& x, std::size_t leaf)>;
    void moved(const Change& change, const std::function<void()>& then);
    std::vector<Values> numbers() const;
    std::string place(const std::vector<Values>& numbers) const;
    bool where_defined(const std::function<void()>& then,
                       const std::function<std::vector<Values>()>& numbers);
    Sample values_along(std::size_t which, const Values& x, const Values& u, double t);
    void fill_numbers();
    Values value_of_numbers();
    void require_usual(const Values& values) const;
    std::shared_ptr<const Values> beginning(std::size_t which);
    std::vector<std::vector<Values>> gradients_of_numbers(const std::vector<Values>& weights);
    void count_run();
    void put_back(const std::vector<Values>& x);
    std::vector<Values> gradient_of(Tape& tape, const Tensors& outputs, const Values& weights);
    Sample values_of(const Tensors& outputs) const;

    Function f_;
    NamedTensors leaves_;
    bool stays_near_ = false;
    std::shared_ptr<Budget> budget_ = {};
    std::vector<Box> boxes_;            // one for each leaf
    std::vector<Values> here_;          // the leaves' initial values
    std::vector<double> typical_ = {};  // typical() sizes, once they are needed
    OfNumbers of_numbers_ = {};
    std::vector<Values> numbers_ = {};  // memory for their arguments
    Values cotangent_ = {};
    std::vector<std::shared_ptr<const Values>> beginnings_ = {};
    std::string not_defined_ = {}, overwritten_ = {};
    std::vector<GeneratorLog::State> generators_ = {};
    std::vector<Shape> shapes_ = {};
    std::uint64_t branch_ = 0;  // taken here; also reported where f is not defined
    std::size_t output_count_ = 0;
    int runs_ = 0;
};

}  // namespace tapestry::checker
