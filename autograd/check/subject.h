// The function under test as the checker sees it: numbers in, numbers out, branches on the side.
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

/// Random signs, and normal numbers: of streams of the checker's own, for who calls it may have
/// drawn the inputs from a Generator with the same seed, and weights equal to the inputs see
/// little.
std::vector<double> random_signs(std::size_t n, std::uint64_t seed);
std::vector<double> random_weights(std::size_t n, std::uint64_t seed);

/// x, every number moved by 2^-51 of itself, up or down at random: what rounding may have done to
/// it before it came here.
std::vector<double> with_shaken_bits(std::vector<double> x, std::uint64_t seed);

// ---- branches (branch_trace.cpp) ----------------------------------------------------------------

/// Which branches a run took, op by op, seen from outside.
struct Branches {
    struct Step {
        std::string op;  ///< "relu (#3, ffn)"; empty unless names were asked for
        std::uint64_t taken;
    };
    std::vector<Step> steps;
    std::uint64_t all = 0;      ///< one number for the whole run: which ops, and what they decided
    std::uint64_t decided = 0;  ///< the same of what they decided alone
};

/// Watches a run. Everything an op decides is an integer or a truth value: its own decisions
/// (Op::decisions), and operands that others decided, an argmax or a comparison.
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

    /// f() computes from the leaves (f64, contiguous, requires_grad) as they stand; it may read
    /// other things, always the same. What it draws from generators is drawn again, the same, at
    /// every run; in the end they stand where they stood. Throws DTypeError where f gives something
    /// else than f64.
    Subject(Function f, NamedTensors leaves);
    /// Leaves that a backward rule has written into are what they were.
    ~Subject() {
        if (!overwritten_.empty()) put_back(here_);
    }
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;

    /// A plain function is called near x alone: no step is longer than half of x's own size, and no
    /// number leaves its bounds. Throws what Box::of() throws.
    void stay_near(const std::vector<Bounds>& bounds);
    /// Every evaluation is taken from it; without one there is no limit. Throws Budget::Spent then.
    void set_budget(std::shared_ptr<Budget> budget) { budget_ = std::move(budget); }
    /// As `whole` does, a part of which this is, and with its budget: a leaf has the bounds of the
    /// leaf of `whole` that `origins` has in its place, if it is one.
    void stay_near_as(const Subject& whole, const Tensors& origins);

    /// Calls `then` where f may not be defined: std::domain_error, or an Error of the library's,
    /// means that, and false is returned. All else that f throws goes through.
    bool where_defined(const std::function<void()>& then);
    /// What f threw first, and where: "x [3] = -0.5: log of a negative number".
    const std::string& not_defined() const { return not_defined_; }

    /// What a backward rule has written into, and should not have; empty if nothing.
    const std::string& overwritten() const { return overwritten_; }

    const NamedTensors& leaves() const { return leaves_; }
    std::size_t outputs() const { return output_count_; }
    const std::vector<Shape>& output_shapes() const { return shapes_; }
    int runs() const { return runs_; }

    /// All outputs, one after the other, and the branches taken.
    Sample run();
    /// The same; nothing where f throws because it is not defined there.
    std::optional<Sample> run_where_defined();
    /// The same with the ops named.
    Branches branches();
    /// Where f has first taken another branch than at its leaves' present values, now that leaf
    /// `which` has moved to x + t u; empty if nowhere.
    std::string first_other_branch(std::size_t which, const std::vector<double>& u, double t);

    /// weights^T df/d(leaf), for each leaf; zeros where f does not depend on it.
    std::vector<std::vector<double>> gradient(const std::vector<double>& weights);
    /// The same for several weights, through one forward pass: [weights][leaf][element].
    std::vector<std::vector<std::vector<double>>> gradients(
        const std::vector<std::vector<double>>& weights);
    /// gradient(), f having been run inside recompute().
    std::vector<std::vector<double>> recomputed_gradient(const std::vector<double>& weights);
    /// df/d(leaf `which`) u, by the rules alone: <v, J u> is the derivative of v^T J u by v.
    std::vector<double> jvp(std::size_t which, const std::vector<double>& u);

    /// f at x + t u, u being added to leaf `which`.
    Line along(std::size_t which, std::vector<double> u, double scale);
    /// A random direction for leaf `which`, pointing inwards where it stands on a bound.
    std::vector<double> direction(std::size_t which, std::uint64_t seed) const;
    /// f here and with the last bits of all leaves changed at random, as often as that takes no
    /// other branch.
    Neighbourhood look_around(std::uint64_t seed, int samples = 4);

    /// Shakes the bits of every leaf (within bounds), calls `then`, puts them back.
    void shaken(std::uint64_t seed, const std::function<void()>& then);

    /// Moves all numbers of leaf `which` a little (within bounds), calls `then`, puts them back.
    void shifted(std::size_t which, const std::function<void()>& then);

    /// f under the same conditions as in run(), for those who watch it: with a tape, the frozen
    /// generators, and nothing else.
    Tensors outputs_on(Tape& tape);
    /// The cotangents that `weights` stand for.
    Tensors as_cotangents(const std::vector<double>& weights) const;

private:
    using Values = std::vector<double>;
    using Change = std::function<Values(const Values& x, std::size_t leaf)>;
    void moved(const Change& change, const std::function<void()>& then);
    std::string place() const;
    void put_back(const std::vector<Values>& x);
    std::vector<Values> gradient_of(Tape& tape, const Tensors& outputs, const Values& weights);
    Sample values_of(const Tensors& outputs) const;

    Function f_;
    NamedTensors leaves_;
    bool stays_near_ = false;
    std::shared_ptr<Budget> budget_ = {};
    std::vector<Box> boxes_;    // one for each leaf
    std::vector<Values> here_;  // where the leaves stood at first
    std::string not_defined_ = {}, overwritten_ = {};
    std::vector<GeneratorLog::State> generators_ = {};
    std::vector<Shape> shapes_ = {};
    std::uint64_t branch_ = 0;  // taken here; where f is not defined none other is
    std::size_t output_count_ = 0;
    int runs_ = 0;
};

}  // namespace tapestry::checker
