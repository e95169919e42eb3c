// One row of the catalogue that every public op must stand in: how to call it, its scalar
// definition, inputs to try, and the errors it must give. Whoever wants to go through all ops goes
// through the rows: `tapestry gradcheck`, and the tests, for which tests/ops/check_case.cpp drives
// from a row:
//
//   value       against the definition, f32 and f64, on every ISA the machine has; contiguous,
//               strided, expanded, transposed and reversed inputs; the same bits for 1, 2 and 3
//               threads. Whole numbers and truth values must be equal to those of the definition.
//   gradient    against the definition in dual numbers, with random cotangents and directions, f32
//               and f64, on every ISA; the fused rule against the recordable one; one input alone
//               against all together; against central differences, orders 1 and 2
//   tape        everything saved is released by backward
//   errors      type tapestry::Error, with the expected words
//
// An op that has several results has one row for all of them. One that draws makes its generator
// anew at each call, so that it is a function; its definition reads the same stream of Philox.
//
// The rows stand in ops/catalog/NAME_cases.cpp, and ops/catalog/all_cases.cpp lists their
// functions.
#pragma once

#include <tapestry/autograd/check/dual.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/catalog/reference/array.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry::catalog {

/// A definition as the catalogue keeps it: a generic lambda, for the two kinds of numbers that
/// definitions are computed in, as one type for all of them: what takes one is compiled once.
///     template <class T> using Binary = T(T, T);    Generic<Binary> plus([](auto a, auto b) { ...
///     });
template <template <class> class Signature>
class Generic {
public:
    template <class F>
    Generic(F f) : real_(f), dual_(f) {}

    template <class... A>
    auto operator()(const A&... a) const {
        if constexpr (std::is_invocable_v<Signature<double>*, A...>) {
            return real_(a...);
        } else {
            return dual_(a...);
        }
    }

private:
    std::function<Signature<double>> real_;
    std::function<Signature<Dual>> dual_;
};

/// What an input is made of. Real inputs are f32 or f64 as the check wants and get gradients;
/// whole ones are i64 in [low, high), masks bool with about half of them true: both held fixed.
enum class Kind { real, whole, mask };

struct Input {
    Shape shape;
    double low = -2;
    double high = 2;
    Kind kind = Kind::real;
};

inline Input whole_numbers(const Shape& shape, std::int64_t low, std::int64_t high) {
    return {shape, static_cast<double>(low), static_cast<double>(high), Kind::whole};
}
inline Input indices(const Shape& shape, std::int64_t limit) {
    return whole_numbers(shape, 0, limit);
}
inline Input mask(const Shape& shape) { return {shape, 0, 2, Kind::mask}; }

using Sample = std::vector<Input>;

/// A call that must throw.
struct ErrorCase {
    std::function<void()> call;
    std::string message;  ///< words the message must contain
};

struct OpCase {
    std::string name;                           ///< of the public function
    std::string variant;                        ///< which form of it: "axis 1, keepdim"
    std::function<Tensors(const Tensors&)> op;  ///< all its results
    std::function<reference::Arrays<double>(const reference::Arrays<double>&)> reference;
    std::function<reference::Arrays<Dual>(const reference::Arrays<Dual>&)> dual_reference;
    std::vector<Sample> samples;
    std::vector<ErrorCase> errors;

    /// False where no gradient is to be checked. (Of whole numbers and truth values among the
    /// results none ever is.)
    bool differentiable = true;
    /// Allowed error relative to max(1, the largest value).
    double tolerance_f64 = 1e-12;
    double tolerance_f32 = 4e-6;
    /// Of 16 bits in roundings, of an f32's 2^-24: how many may come together in a result. One,
    /// where an op is one kernel.
    double roundings = 6;
    /// Why in 16 bits gradients are not compared, if so.
    std::string no_half_gradient;
    double tolerance(DType dtype) const;
    /// A sample big enough that several threads share it; it is compared across thread counts only.
    Sample large;
    /// Why no sample is empty, or no sample has one element, if so.
    std::string no_empty;
    std::string no_single;

    std::string title() const { return variant.empty() ? name : name + " (" + variant + ")"; }
};

/// One result, or what holds all of them already, as a list.
inline Tensors listed(Tensor one) { return {std::move(one)}; }
template <class T>
reference::Arrays<T> listed(reference::Array<T> one) {
    return {std::move(one)};
}
template <class T, class Allocator>
std::vector<T, Allocator> listed(std::vector<T, Allocator> all) {
    return all;
}

/// A row. `op` gives a Tensor or Tensors; `definition` an Array or Arrays, and is generic: called
/// with const Arrays<double>& and const Arrays<Dual>&.
template <class Op, class Definition>
OpCase op_case(std::string_view name, std::string_view variant, Op op, Definition definition,
               std::vector<Sample> samples) {
    OpCase row;
    row.name = name;
    row.variant = variant;
    row.op = [op](const Tensors& x) { return listed(op(x)); };
    row.reference = [definition](const reference::Arrays<double>& x) {
        return listed(definition(x));
    };
    row.dual_reference = [definition](const reference::Arrays<Dual>& x) {
        return listed(definition(x));
    };
    row.samples = std::move(samples);
    return row;
}

std::vector<Sample> samples_of(std::initializer_list<std::initializer_list<Input>> samples);

/// The same for samples that are written down: less to compile than vectors of vectors.
template <class Op, class Definition>
OpCase op_case(std::string_view name, std::string_view variant, Op op, Definition definition,
               std::initializer_list<std::initializer_list<Input>> samples) {
    return op_case(name, variant, std::move(op), std::move(definition), samples_of(samples));
}

/// One tensor of several shapes, with numbers in [low, high).
std::vector<Sample> unary_samples(double low, double high);

/// A row for a function of one tensor, element by element: `f` is generic in the number type.
template <class Op, class F>
OpCase unary_case(std::string_view name, std::string_view variant, Op op, F f, double low,
                  double high) {
    OpCase row = op_case(
        name, variant, [op](const Tensors& x) { return op(x[0]); },
        [f](const auto& x) { return reference::map(x[0], f); }, unary_samples(low, high));
    row.large = {{{70, 1000}, low, high}};
    return row;
}

/// Every row of every op (ops/catalog/all_cases.cpp).
const std::vector<OpCase>& all_cases();

/// Tensors for a sample, the same for the same seed. Real inputs are of `dtype`.
Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed);

}  // namespace tapestry::catalog
