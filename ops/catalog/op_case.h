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
// The rows stand in ops/catalog/NAME_cases.cpp, and ops/catalog/all_cases.cpp lists these files.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/ops/catalog/reference/array.h>

#include <functional>
#include <string>
#include <vector>

namespace tapestry::catalog {

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
    /// A sample big enough that several threads share it; it is compared across thread counts only.
    Sample large;
    /// Why no sample is empty, or no sample has one element, if so.
    std::string no_empty;
    std::string no_single;

    std::string title() const { return variant.empty() ? name : name + " (" + variant + ")"; }
};

/// One result, or what holds all of them already, as a list.
inline Tensors listed(Tensor one) { return {std::move(one)}; }
inline Tensors listed(Tensors all) { return all; }
template <class T>
reference::Arrays<T> listed(reference::Array<T> one) {
    return {std::move(one)};
}
template <class T>
reference::Arrays<T> listed(reference::Arrays<T> all) {
    return all;
}

/// A row. `op` gives a Tensor or Tensors; `definition` an Array or Arrays, and is generic: called
/// with const Arrays<double>& and const Arrays<Dual>&.
template <class Op, class Definition>
OpCase op_case(std::string name, std::string variant, Op op, Definition definition,
               std::vector<Sample> samples) {
    const auto all = [definition](const auto& x) { return listed(definition(x)); };
    OpCase row;
    row.name = std::move(name);
    row.variant = std::move(variant);
    row.op = [op](const Tensors& x) { return listed(op(x)); };
    row.reference = all;
    row.dual_reference = all;
    row.samples = std::move(samples);
    return row;
}

/// A row for a function of one tensor, element by element: `f` is generic in the number type.
template <class Op, class F>
OpCase unary_case(std::string name, std::string variant, Op op, F f, double low, double high) {
    OpCase row = op_case(
        std::move(name), std::move(variant), [op](const Tensors& x) { return op(x[0]); },
        [f](const auto& x) { return reference::map(x[0], f); },
        {{{{3, 5}, low, high}},
         {{{2, 3, 37}, low, high}},
         {{{1}, low, high}},
         {{{}, low, high}},
         {{{0, 3}, low, high}}});
    row.large = {{{70, 1000}, low, high}};
    return row;
}

/// Every row of every op (ops/catalog/all_cases.cpp).
const std::vector<OpCase>& all_cases();

/// Tensors for a sample, the same for the same seed. Real inputs are of `dtype`.
Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed);

}  // namespace tapestry::catalog
