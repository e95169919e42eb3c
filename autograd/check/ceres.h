// Checks Jacobians of cost functions with the interface of Ceres: blocks of parameters behind
// `double const* const*`, and the manifolds on which the blocks lie.
//
//     const std::vector<const ceres::Manifold*> manifolds{&se3, nullptr};
//     const GradcheckReport report = check_cost_function(cost, {pose, point}, manifolds);
//
// Header-only, and without Ceres' headers: any type with the interface of ceres::CostFunction and
// ceres::Manifold will do.
// Read next: plain.h; docs/verify-a-kernel.md.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tapestry {

/// ceres::CostFunction, or a type that looks like it.
template <class C>
concept CostFunctionLike = requires(const C& cost, double const* const* blocks, double* residuals,
                                    double** jacobians) {
    { cost.num_residuals() } -> std::convertible_to<int>;
    cost.parameter_block_sizes();
    { cost.Evaluate(blocks, residuals, jacobians) } -> std::convertible_to<bool>;
};

/// ceres::Manifold, or a type that looks like it.
template <class M>
concept ManifoldLike = requires(const M& manifold, const double* x, double* to) {
    { manifold.AmbientSize() } -> std::convertible_to<int>;
    { manifold.TangentSize() } -> std::convertible_to<int>;
    { manifold.Plus(x, x, to) } -> std::convertible_to<bool>;
    { manifold.PlusJacobian(x, to) } -> std::convertible_to<bool>;
    { manifold.Minus(x, x, to) } -> std::convertible_to<bool>;
    { manifold.MinusJacobian(x, to) } -> std::convertible_to<bool>;
};

namespace detail {

// [rows, middle] times [middle, columns], row-major.
inline std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                                   std::size_t rows, std::size_t middle, std::size_t columns) {
    std::vector<double> result(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < middle; ++k) {
            for (std::size_t j = 0; j < columns; ++j) {
                result[i * columns + j] += a[i * middle + k] * b[k * columns + j];
            }
        }
    }
    return result;
}

inline void require_defined(bool defined, const char* function) {
    if (!defined) throw std::domain_error(fmt::format("{} returned false", function));
}

template <ManifoldLike M>
std::vector<double> plus(const M& manifold, const std::vector<double>& x,
                         const std::vector<double>& delta) {
    std::vector<double> moved(x.size());
    require_defined(manifold.Plus(x.data(), delta.data(), moved.data()), "Plus");
    return moved;
}

// [ambient, tangent], row-major.
template <ManifoldLike M>
std::vector<double> plus_jacobian(const M& manifold, const std::vector<double>& x) {
    std::vector<double> jacobian(x.size() * static_cast<std::size_t>(manifold.TangentSize()));
    require_defined(manifold.PlusJacobian(x.data(), jacobian.data()), "PlusJacobian");
    return jacobian;
}

// The numbers that are moved: those of the block, or the 0 of the tangent at it.
template <ManifoldLike M>
std::vector<double> start_of(const std::vector<double>& block, std::size_t i, std::size_t size,
                             const M* manifold) {
    require<ShapeError>(size == block.size(),
                        "check_cost_function: block {} has {} numbers, got {}", i, size,
                        block.size());
    if (manifold == nullptr) return block;
    require<ShapeError>(static_cast<std::size_t>(manifold->AmbientSize()) == size,
                        "check_cost_function: block {} has {} numbers, its manifold {}", i, size,
                        manifold->AmbientSize());
    require(manifold->TangentSize() > 0,
            "check_cost_function: all of block {} is constant (TangentSize 0), so none of its "
            "Jacobian is used: pass null to check it in all {} numbers",
            i, size);
    return std::vector<double>(static_cast<std::size_t>(manifold->TangentSize()));
}

// A cost function's residuals and Jacobians at one place.
template <CostFunctionLike C>
class CostFunctionCalls {
public:
    explicit CostFunctionCalls(const C& cost) : cost_(cost) {
        require<ShapeError>(cost.num_residuals() > 0,
                            "check_cost_function: the cost function has {} residuals",
                            cost.num_residuals());
    }

    std::size_t residuals() const { return static_cast<std::size_t>(cost_.num_residuals()); }

    std::vector<double> evaluate(const PlainInputs& blocks) const {
        std::vector<double> residuals(this->residuals());
        require_defined(cost_.Evaluate(pointers(blocks).data(), residuals.data(), nullptr),
                        "Evaluate");
        return residuals;
    }

    // The Jacobian [residuals, size] of each block; empty for those that are not wanted, for which
    // Evaluate gets a null pointer. Entries that it does not write are NaN.
    PlainInputs jacobians(const PlainInputs& blocks, const std::vector<bool>& wanted,
                          std::vector<double>& residuals) const {
        constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();
        PlainInputs jacobians(blocks.size());
        std::vector<double*> to(blocks.size(), nullptr);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (!wanted[i]) continue;
            jacobians[i].assign(this->residuals() * blocks[i].size(), kUnwritten);
            to[i] = jacobians[i].data();
        }
        residuals.assign(this->residuals(), kUnwritten);
        require_defined(cost_.Evaluate(pointers(blocks).data(), residuals.data(), to.data()),
                        "Evaluate");
        return jacobians;
    }

private:
    static std::vector<const double*> pointers(const PlainInputs& blocks) {
        std::vector<const double*> all;
        for (const std::vector<double>& block : blocks) all.push_back(block.data());
        return all;
    }

    const C& cost_;
};

inline bool differ(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;  // also infinite
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return true;
        largest = std::max(largest, std::abs(a[i]));
        apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    return apart > 1e-9 * largest;
}

// What Ceres expects of Evaluate in addition to right numbers. `reset`: as in GradcheckOptions.
template <CostFunctionLike C>
std::vector<std::string> wrong_calls(const CostFunctionCalls<C>& calls, const PlainInputs& blocks,
                                     const std::function<void()>& reset) {
    std::vector<std::string> wrong;
    std::vector<double> residuals, alone;
    const auto jacobians = [&](const std::vector<bool>& wanted, std::vector<double>& values) {
        if (reset) reset();
        return calls.jacobians(blocks, wanted, values);
    };
    const PlainInputs all = jacobians(std::vector<bool>(blocks.size(), true), residuals);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::size_t unwritten = 0;
        for (const double entry : all[i]) unwritten += std::isnan(entry) ? 1U : 0U;
        if (unwritten > 0) {
            wrong.push_back(
                fmt::format("Evaluate leaves {} of {} entries of the Jacobian of "
                            "block {} unwritten, or NaN",
                            unwritten, all[i].size(), i));
            continue;
        }
        std::vector<bool> wanted(blocks.size(), false);
        wanted[i] = true;
        const PlainInputs one = jacobians(wanted, alone);
        if (differ(all[i], one[i])) {
            wrong.push_back(
                fmt::format("the Jacobian of block {} is another one if those of "
                            "other blocks are null",
                            i));
        }
        if (differ(residuals, alone)) {
            wrong.push_back(fmt::format(
                "the residuals are other ones if only the Jacobian of block {} is wanted", i));
        }
    }
    if (reset) reset();
    if (differ(residuals, calls.evaluate(blocks))) {
        wrong.emplace_back("the residuals are other ones if no Jacobian is wanted");
    }
    return wrong;
}

// g^T J for every block.
inline PlainInputs pulled_back(const PlainInputs& jacobians, const std::vector<double>& g) {
    PlainInputs gradients;
    for (const std::vector<double>& jacobian : jacobians) {
        gradients.push_back(product(g, jacobian, 1, g.size(), jacobian.size() / g.size()));
    }
    return gradients;
}

}  // namespace detail

/// Checks the Jacobians of a cost function with respect to every block. A block with a manifold
/// (null: none) is moved along its tangent by Plus, and the claim is its Jacobian times
/// PlusJacobian: what Ceres uses, and all that is defined of a quaternion. Reports name blocks
/// "input 0" and so on, and entries of a tangent by their index. Null pointers in place of
/// Jacobians must change nothing. Evaluate and Plus returning false mean that the function is not
/// defined there. Throws ShapeError if sizes do not match, ValueError for `points` other than 1
/// with manifolds, and for a manifold without a tangent.
template <CostFunctionLike C, ManifoldLike M>
GradcheckReport check_cost_function(const C& cost, const std::vector<std::vector<double>>& blocks,
                                    const std::vector<const M*>& manifolds,
                                    const GradcheckOptions& options = {}) {
    const auto& sizes = cost.parameter_block_sizes();
    require<ShapeError>(sizes.size() == blocks.size(),
                        "check_cost_function: the cost function has {} blocks, got {}",
                        sizes.size(), blocks.size());
    require<ShapeError>(manifolds.empty() || manifolds.size() == blocks.size(),
                        "check_cost_function: {} manifolds for {} blocks", manifolds.size(),
                        blocks.size());
    require(manifolds.empty() || options.points == 1,
            "check_cost_function: points must be 1 with manifolds, got {}", options.points);
    const auto manifold = [&](std::size_t i) { return manifolds.empty() ? nullptr : manifolds[i]; };
    PlainInputs x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        x.push_back(
            detail::start_of(blocks[i], i, static_cast<std::size_t>(sizes[i]), manifold(i)));
    }
    const auto moved = [&](const PlainInputs& at) {
        PlainInputs there = at;
        for (std::size_t i = 0; i < at.size(); ++i) {
            if (manifold(i) != nullptr) there[i] = detail::plus(*manifold(i), blocks[i], at[i]);
        }
        return there;
    };
    const detail::CostFunctionCalls<C> calls(cost);
    GradcheckReport report = check_pullback(
        [&](const PlainInputs& at) { return calls.evaluate(moved(at)); },
        [&](const PlainInputs& at, const std::vector<double>& g) {
            const PlainInputs there = moved(at);
            std::vector<double> residuals;
            PlainInputs jacobians =
                calls.jacobians(there, std::vector<bool>(there.size(), true), residuals);
            for (std::size_t i = 0; i < at.size(); ++i) {
                if (manifold(i) == nullptr) continue;
                jacobians[i] =
                    detail::product(jacobians[i], detail::plus_jacobian(*manifold(i), there[i]),
                                    g.size(), there[i].size(), at[i].size());
            }
            return detail::pulled_back(jacobians, g);
        },
        x, options);
    for (std::string& wrong : detail::wrong_calls(calls, blocks, options.reset)) {
        report.verdict = Verdict::fail;
        report.reason = Reason::none;
        report.complaints.push_back(std::move(wrong));
    }
    report.subject = "cost function";
    return report;
}

/// The same where no block has a manifold.
template <CostFunctionLike C>
GradcheckReport check_cost_function(const C& cost, const std::vector<std::vector<double>>& blocks,
                                    const GradcheckOptions& options = {}) {
    struct None {
        int AmbientSize() const { return 0; }
        int TangentSize() const { return 0; }
        bool Plus(const double*, const double*, double*) const { return false; }
        bool PlusJacobian(const double*, double*) const { return false; }
        bool Minus(const double*, const double*, double*) const { return false; }
        bool MinusJacobian(const double*, double*) const { return false; }
    };
    return check_cost_function(cost, blocks, std::vector<const None*>(), options);
}

/// Checks a manifold at x. Input 0 of the report is PlusJacobian, against differences of Plus;
/// input 1 is MinusJacobian times PlusJacobian, against differences of Minus(Plus(x, delta), x).
template <ManifoldLike M>
GradcheckReport check_manifold(const M& manifold, const std::vector<double>& x,
                               const GradcheckOptions& options = {}) {
    const auto ambient = static_cast<std::size_t>(manifold.AmbientSize());
    const auto tangent = static_cast<std::size_t>(manifold.TangentSize());
    require<ShapeError>(x.size() == ambient, "check_manifold: x must have {} numbers, got {}",
                        ambient, x.size());
    require(tangent > 0, "check_manifold: TangentSize is 0, so there is nothing to check");
    require(options.points == 1, "check_manifold: points must be 1, got {}", options.points);
    const std::vector<double> zero(tangent);
    GradcheckReport report = check_pullback(
        [&](const PlainInputs& delta) {
            std::vector<double> result = detail::plus(manifold, x, delta[0]);
            const std::vector<double> moved = detail::plus(manifold, x, delta[1]);
            std::vector<double> back(tangent);
            detail::require_defined(manifold.Minus(moved.data(), x.data(), back.data()), "Minus");
            result.insert(result.end(), back.begin(), back.end());
            return result;
        },
        [&](const PlainInputs&, const std::vector<double>& g) {
            const std::vector<double> there = detail::plus_jacobian(manifold, x);
            std::vector<double> back(tangent * ambient);
            detail::require_defined(manifold.MinusJacobian(x.data(), back.data()), "MinusJacobian");
            const auto split = g.begin() + static_cast<std::ptrdiff_t>(ambient);
            return PlainInputs{
                detail::product({g.begin(), split}, there, 1, ambient, tangent),
                detail::product({split, g.end()},
                                detail::product(back, there, tangent, ambient, tangent), 1, tangent,
                                tangent)};
        },
        {zero, zero}, options);
    report.subject = "manifold";
    return report;
}

}  // namespace tapestry
