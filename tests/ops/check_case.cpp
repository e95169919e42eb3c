#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/catalog/bound_case.h>
#include <tapestry/tests/core/floating_point_state.h>
#include <tapestry/tests/ops/check_case.h>
#include <tapestry/tests/settings.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

namespace tapestry::test {
namespace {

using catalog::BoundCase, catalog::bind_case, catalog::ErrorCase, catalog::Input,
    catalog::make_inputs, catalog::OpCase, catalog::real_result, catalog::Sample;
using reference::Array;
using reference::Arrays;

std::int64_t numel_of(const Sample& sample) {
    std::int64_t count = 0;
    for (const Input& input : sample) count += numel(input.shape);
    return count;
}

// ---- inputs -------------------------------------------------------------------------------------

Array<double> to_array(const Tensor& x) {
    Array<double> array(x.shape());
    array.data = x.to_vector<double>();
    return array;
}

bool is_real(const Tensor& x) { return is_floating(x.dtype()); }

// The same numbers in every second element of memory: no stride is 1.
Tensor strided(const Tensor& x) {
    Shape wide = x.shape();
    wide.push_back(2);
    Tensor holder = full(wide, 99, x.dtype());
    Tensor view = views::slice(holder, -1, 0, 1);
    view = views::reshape(view, x.shape());
    copy_elements(x, view);
    return view;
}

// The same shape, with the first entry along axis 0 repeated by a stride of 0.
Tensor expanded(const Tensor& x) {
    if (x.rank() == 0 || x.size(0) == 0) return x;
    return views::expand(views::slice(x, 0, 0, 1), x.shape());
}

// The same numbers in memory with the last two axes exchanged.
Tensor transposed(const Tensor& x) {
    if (x.rank() < 2) return x;
    return views::transpose(views::transpose(x, -1, -2).clone(), -1, -2);
}

Tensor backwards(Tensor x) {
    constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();
    for (int axis = 0; axis < x.rank(); ++axis) x = views::slice(x, axis, -1, kBeforeAll, -1);
    return x;
}

// The same numbers in reverse memory order: strides are negative.
Tensor reversed(const Tensor& x) { return backwards(backwards(x).clone()); }

Tensors as_leaves(const Tensors& inputs) {
    Tensors leaves;
    for (const Tensor& input : inputs) {
        Tensor leaf = input.detach();
        if (is_real(leaf)) leaf.set_requires_grad();
        leaves.push_back(leaf);
    }
    return leaves;
}

Tensors real_ones(const Tensors& tensors) {
    Tensors real;
    std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(real), is_real);
    return real;
}

double largest(const std::vector<double>& values) {
    double size = 1;
    for (const double value : values) {
        if (std::isfinite(value)) size = std::max(size, std::abs(value));
    }
    return size;
}

bool close(double a, double b, double allowed) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= allowed;
}

// ---- definitions --------------------------------------------------------------------------------

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same_bits(const Dual& a, const Dual& b) {
    return same_bits(a.value, b.value) && same_bits(a.slope, b.slope);
}

template <class T>
bool same_bits(const Arrays<T>& a, const Arrays<T>& b) {
    const auto same = [](const T& x, const T& y) { return same_bits(x, y); };
    const auto same_array = [&](const Array<T>& x, const Array<T>& y) {
        return x.shape == y.shape &&
               std::equal(x.data.begin(), x.data.end(), y.data.begin(), y.data.end(), same);
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_array);
}

// Results of a definition, which instruction sets and layouts share: it runs once for the same
// numbers.
template <class T>
class Known {
public:
    template <class Definition>
    const Arrays<T>& of(const Arrays<T>& inputs, const Definition& definition) {
        for (const auto& [x, y] : all_) {
            if (same_bits(x, inputs)) return y;
        }
        return all_.emplace_back(inputs, definition(inputs)).second;
    }
    void clear() { all_.clear(); }

private:
    std::deque<std::pair<Arrays<T>, Arrays<T>>> all_;
};

// ---- the checks ---------------------------------------------------------------------------------

class Checker {
public:
    Checker(const OpCase& row, Effort effort) : row_(row), effort_(std::move(effort)) {}

    std::vector<std::string> run() {
        const SettingsGuard restored_at_the_end;
        completeness();
        for (std::size_t i = 0; i < std::min(effort_.samples, row_.samples.size()); ++i) {
            values_.clear();
            slopes_.clear();
            for (const Isa isa : effort_.isas) {
                set_isa(isa);
                for (const DType dtype : dtypes_on(isa)) sample(i, dtype);
            }
            if (row_.differentiable && is_differenced(i)) differences(i);
        }
        for (const Isa isa : effort_.isas) {
            set_isa(isa);
            threads();
        }
        if (effort_.caller_state) caller_state();
        errors();
        return failures_;
    }

private:
    std::vector<DType> dtypes_on(Isa isa) const {
        std::vector<DType> dtypes = effort_.dtypes;
        // An ISA with its parent's f32 kernels has them checked with the parent.
        if (parent_of(isa) != isa) std::erase_if(dtypes, [](DType d) { return !is_narrow(d); });
        if (isa != effort_.isas.back()) std::erase_if(dtypes, is_narrow);
        return dtypes;
    }

    bool is_differenced(std::size_t i) const {
        constexpr std::int64_t kMost = 1000;
        const std::int64_t size = numel_of(row_.samples[i]);
        if (size <= effort_.differenced) return true;
        return effort_.differenced >= 0 && size <= kMost && i == smallest_full_sample();
    }

    // The smallest with elements; their number if there is none.
    std::size_t smallest_full_sample() const {
        std::size_t best = row_.samples.size();
        for (std::size_t i = 0; i < row_.samples.size(); ++i) {
            const std::int64_t size = numel_of(row_.samples[i]);
            if (size == 0) continue;
            if (best == row_.samples.size() || size < numel_of(row_.samples[best])) best = i;
        }
        return best;
    }

    template <class... Args>
    void failed(fmt::format_string<Args...> format, Args&&... args) {
        failures_.push_back(fmt::format("{}{}: {}", row_.title(), where_,
                                        fmt::format(format, std::forward<Args>(args)...)));
    }

    void sample(std::size_t i, DType dtype) {
        const Tensors inputs = make_inputs(row_.samples[i], dtype, 17 + i);
        where_ = fmt::format(" sample {} {} {}", i, name_of(current_isa()), dtype);
        try {
            value(inputs, "contiguous");
            value(changed(inputs, strided), "strided");
            value(changed(inputs, expanded), "expanded");
            value(changed(inputs, transposed), "transposed");
            value(changed(inputs, reversed), "reversed");
            if (row_.differentiable && (!is_narrow(dtype) || row_.no_half_gradient.empty())) {
                gradient(inputs);
                gradient(changed(inputs, strided));
                gradient(changed(inputs, transposed));
            }
        } catch (const std::exception& error) {
            failed("threw: {}", error.what());
        }
        where_.clear();
    }

    static Tensors changed(const Tensors& inputs, Tensor (*layout)(const Tensor&)) {
        Tensors result;
        for (const Tensor& input : inputs) result.push_back(layout(input));
        return result;
    }

    double tolerance(DType dtype) const { return row_.tolerance(dtype); }

    double tolerance_of(const Tensor& y, DType inputs) const {
        if (!is_real(y)) return 0;
        return tolerance(row_.rounds_inside && is_narrow(inputs) ? inputs : y.dtype());
    }

    void value(const Tensors& inputs, const char* layout) {
        const Tensors results = row_.op(inputs);
        if (!effort_.definitions) return;
        Arrays<double> arrays;
        for (const Tensor& input : inputs) arrays.push_back(to_array(input));
        const Arrays<double>& expected =
            values_.of(arrays, [this](const Arrays<double>& x) { return row_.reference(x); });
        if (results.size() != expected.size()) {
            failed("{}: {} results, by definition {}", layout, results.size(), expected.size());
            return;
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            const std::string what =
                results.size() == 1 ? layout : fmt::format("{}: result {}", layout, i);
            compare(results[i], expected[i], what, tolerance_of(results[i], dtype_of_real(inputs)));
        }
    }

    void compare(const Tensor& y, const Array<double>& expected, const std::string& what,
                 double tolerance) {
        if (!(y.shape() == expected.shape)) {
            failed("{}: shape {}, not {}", what, y.shape(), expected.shape);
            return;
        }
        const auto got = y.to_vector<double>();
        const double allowed = tolerance * largest(expected.data);
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (!close(got[i], expected.data[i], allowed)) {
                failed("{}: element {} is {:.17g}, by definition {:.17g}", what, i, got[i],
                       expected.data[i]);
                return;
            }
        }
    }

    static Tensor cotangent_of(const Tensor& y, Generator& generator) {
        return cast(randn(y.shape(), generator, compute_dtype(y.dtype())), y.dtype());
    }

    static DType dtype_of_real(const Tensors& inputs) {
        const auto found = std::find_if(inputs.begin(), inputs.end(), is_real);
        return found == inputs.end() ? DType::f64 : found->dtype();
    }

    // <J^T w, v> by the tape against <w, J v> by dual numbers, one input at a time.
    void gradient(const Tensors& inputs) {
        const DType dtype = dtype_of_real(inputs);
        const Tensors leaves = as_leaves(inputs);
        const Tensors asked = real_ones(leaves);
        Tape tape;
        const Tensors results = row_.op(leaves);
        const Tensor y = real_result(results);
        const std::size_t recorded_forward = tape.entries().size();
        if (!y.defined() || !tape.follows(y)) {
            if (!asked.empty()) failed("was not recorded");
            return;
        }
        Generator generator(23);
        const Tensor w = cotangent_of(y, generator);
        const Tensors recorded =
            tape.gradient(y, asked, {.cotangent = w, .retain = true, .create_graph = true});
        Tensors alone;
        for (const Tensor& leaf : asked) {
            alone.push_back(tape.gradient(y, {leaf}, {.cotangent = w, .retain = true})[0]);
        }
        const Tensors fused = tape.gradient(y, asked, {.cotangent = w});
        for (std::size_t i = 0; i < recorded_forward; ++i) {
            const Op& entry = *tape.entries()[i];
            if (entry.saved_bytes() > 0) {
                failed("backward did not release what {} saved", entry.name());
            }
        }
        compare_gradients(fused, recorded, "the fused rule", "the recordable rule", dtype);
        compare_gradients(fused, alone, "all gradients together", "one alone", dtype);
        for (std::size_t i = 0; effort_.definitions && i < asked.size(); ++i) {
            along_directions(inputs, results, i, fused[i], w);
        }
    }

    void compare_gradients(const Tensors& a, const Tensors& b, const char* a_name,
                           const char* b_name, DType dtype) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto x = a[i].to_vector<double>();
            const auto y = b[i].to_vector<double>();
            const double allowed = 4 * tolerance(dtype) * largest(y);
            for (std::size_t j = 0; j < x.size(); ++j) {
                if (!close(x[j], y[j], allowed)) {
                    failed("gradient of input {} at element {}: {} gives {:.17g}, {} {:.17g}", i, j,
                           a_name, x[j], b_name, y[j]);
                    return;
                }
            }
        }
    }

    void along_directions(const Tensors& inputs, const Tensors& results, std::size_t which,
                          const Tensor& grad, const Tensor& w) {
        Generator generator(29 + which);
        const Tensor v = randn(grad.shape(), generator, DType::f64);
        const std::vector<Dual> y =
            real_result(slopes_.of(dual_inputs(inputs, which, v), row_.dual_reference), results);
        const auto weights = w.to_vector<double>();
        const auto slopes = grad.to_vector<double>();
        const auto direction = v.to_vector<double>();
        double forward = 0;
        double backward = 0;
        double size = 1;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            forward += weights[i] * y[i].slope;
            size += std::abs(weights[i] * y[i].slope);
        }
        for (std::size_t i = 0; i < slopes.size(); ++i) {
            backward += slopes[i] * direction[i];
            size += std::abs(slopes[i] * direction[i]);
        }
        if (!close(forward, backward, 4 * tolerance(grad.dtype()) * size)) {
            failed(
                "gradient of input {} along a random direction: the tape gives {:.12g}, dual "
                "numbers {:.12g}",
                which, backward, forward);
        }
    }

    // The inputs as dual numbers; the `which`-th real one moves along v.
    static Arrays<Dual> dual_inputs(const Tensors& inputs, std::size_t which, const Tensor& v) {
        Arrays<Dual> arrays;
        std::size_t real = 0;
        for (const Tensor& input : inputs) {
            const Array<double> values = to_array(input);
            Array<Dual> dual(input.shape());
            const bool moves = is_real(input) && real++ == which;
            const auto direction = moves ? v.to_vector<double>() : std::vector<double>();
            for (std::size_t i = 0; i < values.data.size(); ++i) {
                dual.data[i] = Dual(values.data[i], moves ? direction[i] : 0.0);
            }
            arrays.push_back(std::move(dual));
        }
        return arrays;
    }

    void differences(std::size_t i) {
        set_isa(parent_of(available_isas().back()));
        const Tensors inputs = make_inputs(row_.samples[i], DType::f64, 17 + i);
        where_ = fmt::format(" sample {}", i);
        try {
            const BoundCase bound = bind_case(row_, inputs);
            const GradcheckOptions options{.dual = bound.dual};
            const GradcheckReport first = gradcheck(bound.f, bound.inputs, options);
            if (!first) failed("order 1: {}", first);
            const GradcheckReport second = gradgradcheck(bound.f, bound.inputs, options);
            if (!second) failed("order 2: {}", second);
        } catch (const std::exception& error) {
            failed("gradcheck threw: {}", error.what());
        }
        where_.clear();
    }

    // What an op is called with for bits_of: drawing a large sample takes longer than most ops.
    struct Numbers {
        Tensors inputs;
        Tensor cotangent;  ///< drawn by the first call
    };

    // Value and gradients as one string of bytes.
    std::string bits_of(Numbers& numbers, unsigned caller = 0) {
        Tensors inputs;
        for (const Tensor& input : numbers.inputs) inputs.push_back(input.clone());
        const Tensors leaves = as_leaves(inputs);
        const Tensors asked = real_ones(leaves);
        const test::FloatingPointState state(caller);
        Tape tape;
        Tensors results = row_.op(leaves);
        const Tensor y = real_result(results);
        if (row_.differentiable && y.defined() && tape.follows(y)) {
            if (!numbers.cotangent.defined()) {
                Generator generator(43);
                numbers.cotangent = cotangent_of(y, generator);
            }
            const Tensors grads = tape.gradient(y, asked, {.cotangent = numbers.cotangent});
            results.insert(results.end(), grads.begin(), grads.end());
        }
        std::string bits;
        for (const Tensor& result : results) {
            const Tensor whole = dense(result);
            bits.append(reinterpret_cast<const char*>(whole.storage()->data()) +
                            static_cast<std::size_t>(whole.offset()) * size_of(whole.dtype()),
                        whole.bytes());
        }
        return bits;
    }

    void threads() {
        if (row_.large.empty() || effort_.threads.empty()) return;
        Isa best = effort_.isas.back();
        while (best != current_isa() && parent_of(best) != best) best = parent_of(best);
        const bool all = best == current_isa();
        for (const DType dtype : dtypes_on(current_isa())) {
            set_num_threads(1);
            Numbers numbers{make_inputs(row_.large, dtype, 41), {}};
            const std::string one = bits_of(numbers);
            for (const int count : effort_.threads) {
                if (!all && count != effort_.threads.back()) continue;
                set_num_threads(count);
                if (bits_of(numbers) != one) {
                    failed("{} {}: {} threads give other bits than one", name_of(current_isa()),
                           dtype, count);
                }
            }
        }
    }

    // The caller's rounding and flushing of subnormals change nothing. (Rows of rotary compute
    // their tables themselves.)
    void caller_state() {
        if (row_.name == "rotary") return;
        std::vector<Sample> all;
        if (!row_.large.empty()) all.push_back(row_.large);
        if (!row_.samples.empty()) all.push_back(row_.samples.front());
        for (const Sample& sample : all) {
            for (const DType dtype : {DType::f32, DType::f64}) {
                Numbers numbers{make_inputs(sample, dtype, 41), {}};
                const std::string usual = bits_of(numbers);
                if (bits_of(numbers, test::kHostile) == usual) continue;
                failed("{}: other bits when the caller rounds up and flushes subnormals", dtype);
            }
        }
    }

    void errors() {
        for (const ErrorCase& wrong : row_.errors) {
            try {
                wrong.call();
                failed("no error; expected \"{}\"", wrong.message);
            } catch (const Error& error) {
                if (std::string(error.what()).find(wrong.message) == std::string::npos) {
                    failed("error \"{}\"; expected \"{}\"", error.what(), wrong.message);
                }
            } catch (const std::exception& error) {
                failed("not a tapestry::Error: {}", error.what());
            }
        }
    }

    // A row without edge cases is a failure.
    void completeness() {
        const auto some = [this](auto holds) {
            return std::any_of(row_.samples.begin(), row_.samples.end(), [&](const Sample& sample) {
                return !sample.empty() && std::any_of(sample.begin(), sample.end(), holds);
            });
        };
        if (row_.no_empty.empty() && !some([](const Input& x) { return numel(x.shape) == 0; })) {
            failed("the row has no empty sample and does not say why (no_empty)");
        }
        if (row_.no_single.empty() && !some([](const Input& x) { return numel(x.shape) == 1; })) {
            failed("the row has no sample of one element and does not say why (no_single)");
        }
    }

    const OpCase& row_;
    const Effort effort_;
    Known<double> values_;  ///< of the current sample
    Known<Dual> slopes_;
    std::string where_;
    std::vector<std::string> failures_;
};

}  // namespace

Effort effort_for(const char* tapestry_rows) {
    Effort effort;
    const std::string_view rows = tapestry_rows == nullptr ? "" : tapestry_rows;
    if (rows == "sanitized") {
        effort.isas = {effort.isas.front()};
        if (available_isas().size() > 1) effort.isas.push_back(available_isas().back());
        effort.threads = {3};
        effort.definitions = false;
        effort.caller_state = false;
        effort.differenced = -1;
    } else if (rows == "emulated") {
        effort.isas = {effort.isas.back()};
        effort.dtypes = {DType::f32, DType::bf16};
        effort.threads = {};
        effort.caller_state = false;
        effort.samples = 1;
        effort.differenced = -1;
    } else if (rows == "whole") {
        effort.differenced = std::numeric_limits<std::int64_t>::max();
    } else {
        require(rows.empty(), "TAPESTRY_ROWS={}: not whole, sanitized or emulated", rows);
    }
    return effort;
}

Effort usual_effort() { return effort_for(std::getenv("TAPESTRY_ROWS")); }

std::vector<std::string> check_case(const OpCase& row, const Effort& effort) {
    return Checker(row, effort).run();
}

}  // namespace tapestry::test
