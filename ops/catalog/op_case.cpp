#include <tapestry/ops/catalog/op_case.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>

#include <cmath>

namespace tapestry::catalog {
namespace {

// A conversion would round towards zero, and draw that twice as often as any other number.
Tensor floor_of(const Tensor& x) {
    std::vector<std::int64_t> whole;
    for (const double value : x.to_vector<double>()) {
        whole.push_back(static_cast<std::int64_t>(std::floor(value)));
    }
    return tensor(whole, x.shape());
}

}  // namespace

Held hold(const void* object, void (*release)(const void*)) { return {object, release}; }

ErrorCase::ErrorCase(Callable<void()> wrong, std::string_view words)
    : call(std::move(wrong)), message(words) {}
ErrorCase::ErrorCase(const ErrorCase& other) = default;
ErrorCase::ErrorCase(ErrorCase&& other) noexcept = default;
ErrorCase& ErrorCase::operator=(const ErrorCase& other) = default;
ErrorCase& ErrorCase::operator=(ErrorCase&& other) noexcept = default;
ErrorCase::~ErrorCase() = default;

OpCase::OpCase() = default;
OpCase::OpCase(const OpCase& other) = default;
OpCase::OpCase(OpCase&& other) noexcept = default;
OpCase& OpCase::operator=(const OpCase& other) = default;
OpCase& OpCase::operator=(OpCase&& other) noexcept = default;
OpCase::~OpCase() = default;

double OpCase::tolerance(DType dtype) const {
    switch (dtype) {
        case DType::bf16: return roundings * 0x1p-8;
        case DType::f16: return roundings * 0x1p-11;
        case DType::f32: return tolerance_f32;
        default: return tolerance_f64;
    }
}

namespace {

template <class List>
List list_of(typename List::value_type&& one) {
    List all;
    all.push_back(std::move(one));
    return all;
}

}  // namespace

Tensors listed(Tensor&& one) { return list_of<Tensors>(std::move(one)); }
reference::Arrays<double> listed(reference::Array<double>&& one) {
    return list_of<reference::Arrays<double>>(std::move(one));
}
reference::Arrays<Dual> listed(reference::Array<Dual>&& one) {
    return list_of<reference::Arrays<Dual>>(std::move(one));
}

OpCase make_case(std::string_view name, std::string_view variant, Held callables,
                 Tensors (*op)(const void*, const Tensors&),
                 reference::Arrays<double> (*definition)(const void*,
                                                         const reference::Arrays<double>&),
                 reference::Arrays<Dual> (*dual)(const void*, const reference::Arrays<Dual>&),
                 std::vector<Sample> samples) {
    OpCase row;
    row.name = name;
    row.variant = variant;
    row.op = {callables, op};
    row.reference = {callables, definition};
    row.dual_reference = {callables, dual};
    row.samples = std::move(samples);
    return row;
}

std::vector<Sample> samples_of(std::initializer_list<std::initializer_list<Input>> samples) {
    return {samples.begin(), samples.end()};
}

std::vector<Sample> unary_samples(double low, double high) {
    return {{{{3, 5}, low, high}},
            {{{2, 3, 37}, low, high}},
            {{{1}, low, high}},
            {{{}, low, high}},
            {{{0, 3}, low, high}}};
}

Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed) {
    Generator generator(seed);
    Tensors inputs;
    for (const Input& input : sample) {
        // Drawn in f64 and rounded to f32, so that both types see the same case.
        const Tensor drawn = uniform(input.shape, input.low, input.high, generator, DType::f64);
        if (input.kind == Kind::real) {
            inputs.push_back(cast(drawn, dtype));
        } else {
            const Tensor whole = floor_of(drawn);
            inputs.push_back(input.kind == Kind::whole ? whole : cast(whole, DType::boolean));
        }
    }
    return inputs;
}

}  // namespace tapestry::catalog
