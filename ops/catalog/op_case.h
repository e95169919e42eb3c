// One row of the catalogue of ops, in which every public op must be listed: how to call it, its
// scalar definition, inputs to try, and the errors it must throw. `tapestry gradcheck` iterates
// over the rows, and so do the tests: for each row, tests/ops/check_case.cpp checks
//
//   value       against the definition, in f32 and f64 on every ISA of the machine, in bf16 and f16
//               on the last; contiguous, strided, expanded, transposed and reversed inputs; the
//               same bits for 1, 2 and 3 threads. i64 and bool must equal the definition.
//   gradient    against the definition in dual numbers, with random cotangents and directions, in
//               the same dtypes; the fused rule against the recordable one; single inputs against
//               all together; against central differences, orders 1 and 2
//   tape        backward releases everything saved
//   errors      type tapestry::Error, with the expected words
//
// An op with several results has one row for all of them. A random op creates its generator at each
// call, which makes it a function; its definition reads the same Philox stream.
//
// The rows are in ops/catalog/NAME_cases.cpp; ops/catalog/all_cases.cpp lists their functions.
#pragma once

#include <tapestry/autograd/check/dual.h>
#include <tapestry/core/tensor.h>
#include <tapestry/ops/catalog/reference/array.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::catalog {

/// The type of a function that a generic lambda defines, in the numbers of definitions:
///     template <class T> using Binary = T(T, T);
///     Generic<Binary> plus([](auto a, auto b) { ... });
/// Code that takes one is compiled once.
template <template <class> class Signature>
using Generic = std::function<Signature<Dual>>;

/// Kinds of inputs. Real inputs have the dtype of the check and get gradients; whole ones are i64
/// in [low, high), masks bool, about half of them true; both are held fixed.
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
    std::string message;  ///< words that the message must contain
};

struct OpCase {
    std::string name;                           ///< name of the public function
    std::string variant;                        ///< form of the call: "axis 1, keepdim"
    std::function<Tensors(const Tensors&)> op;  ///< returns all results
    /// The definition: values and derivatives.
    std::function<reference::Arrays<Dual>(const reference::Arrays<Dual>&)> dual_reference;
    std::vector<Sample> samples;
    std::vector<ErrorCase> errors;

    /// False if the gradient is not checked. (i64 and bool results are never checked.)
    bool differentiable = true;
    /// Maximum error relative to max(1, the largest value).
    double tolerance_f64 = 1e-12;
    double tolerance_f32 = 4e-6;
    /// The tolerance for bf16 and f16, in units of 2^-8 and 2^-11: how many roundings may
    /// accumulate in a result. One if the op is a single kernel.
    double roundings = 6;
    /// Whether an f32 result of narrow inputs is computed from narrow numbers, so that tolerance
    /// applies to it as well.
    bool rounds_inside = false;
    /// If not empty, why gradients are not compared for bf16 and f16.
    std::string no_half_gradient;
    double tolerance(DType dtype) const;
    /// The definition's values: those of dual numbers whose slopes are 0. A dual number's value
    /// never depends on a slope, so these are the bits that doubles would give.
    reference::Arrays<double> reference(const reference::Arrays<double>& inputs) const;
    /// A sample large enough for several threads; only compared across thread counts.
    Sample large;
    /// If not empty, why there is no empty sample, or none with one element.
    std::string no_empty;
    std::string no_single;

    std::string title() const { return variant.empty() ? name : name + " (" + variant + ")"; }
};

/// A list of results, from one result or a list.
inline Tensors listed(Tensor one) { return {std::move(one)}; }
template <class T>
reference::Arrays<T> listed(reference::Array<T> one) {
    return {std::move(one)};
}
template <class T, class Allocator>
std::vector<T, Allocator> listed(std::vector<T, Allocator> all) {
    return all;
}

/// Makes a row. `op` returns a Tensor or Tensors; `definition` takes const Arrays<Dual>& and
/// returns an Array or Arrays.
template <class Op, class Definition>
OpCase op_case(std::string_view name, std::string_view variant, Op op, Definition definition,
               std::vector<Sample> samples) {
    OpCase row;
    row.name = name;
    row.variant = variant;
    row.op = [op](const Tensors& x) { return listed(op(x)); };
    row.dual_reference = [definition](const reference::Arrays<Dual>& x) {
        return listed(definition(x));
    };
    row.samples = std::move(samples);
    return row;
}

std::vector<Sample> samples_of(std::initializer_list<std::initializer_list<Input>> samples);

/// The same for literal samples, which compile faster than vectors of vectors.
template <class Op, class Definition>
OpCase op_case(std::string_view name, std::string_view variant, Op op, Definition definition,
               std::initializer_list<std::initializer_list<Input>> samples) {
    return op_case(name, variant, std::move(op), std::move(definition), samples_of(samples));
}

/// Samples of one tensor in several shapes, with numbers in [low, high).
std::vector<Sample> unary_samples(double low, double high);

/// Makes a row for an elementwise function of one tensor; `f` is generic in the number type.
template <class Op, class F>
OpCase unary_case(std::string_view name, std::string_view variant, Op op, F f, double low,
                  double high) {
    OpCase row = op_case(
        name, variant, [op](const Tensors& x) { return op(x[0]); },
        [f](const auto& x) { return reference::map(x[0], f); }, unary_samples(low, high));
    row.large = {{{70, 1000}, low, high}};
    return row;
}

/// The rows of all ops (ops/catalog/all_cases.cpp).
const std::vector<OpCase>& all_cases();

/// Tensors for a sample, determined by the seed. Real inputs have `dtype`.
Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed);

}  // namespace tapestry::catalog
