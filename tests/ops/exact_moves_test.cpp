// Functions that move, choose or count numbers (the first group of accuracy_section.cpp) keep every
// number: NaN, infinities, zeros of both signs, subnormal and largest numbers, in every type, on
// every instruction set, in all shapes of the catalogue.
#include <doctest/doctest.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/settings.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace tapestry;
using Array = reference::Array<double>;

namespace {

// The numbers of `x` replaced by those at the ends of its type, in random order.
Tensor with_specials(const Tensor& x, bool nan, Generator& generator) {
    if (!is_floating(x.dtype())) return x;
    const DTypeRow& row = row_of(x.dtype());
    constexpr double kInf = std::numeric_limits<double>::infinity();
    std::vector<double> specials{0.0,
                                 -0.0,
                                 kInf,
                                 -kInf,
                                 row.largest,
                                 -row.largest,
                                 row.smallest,
                                 -row.smallest,
                                 row.smallest * row.epsilon,
                                 -row.smallest * row.epsilon,
                                 1,
                                 -1.5};
    if (nan) specials.push_back(std::numeric_limits<double>::quiet_NaN());
    std::vector<double> values(static_cast<std::size_t>(x.numel()));
    for (double& value : values) value = specials[generator.below(specials.size())];
    return to(tensor(values, x.shape()), x.dtype());
}

bool same(double a, double b, bool any_zero) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && (a != 0 || any_zero || std::signbit(a) == std::signbit(b));
}

// Empty if the op's results are those of its definition.
std::string difference(const catalog::OpCase& op, const Tensors& inputs) {
    reference::Arrays<double> arrays;
    for (const Tensor& input : inputs) {
        arrays.emplace_back(input.shape());
        arrays.back().data = input.to_vector<double>();
    }
    const reference::Arrays<double> wanted = op.reference(arrays);
    const Tensors results = op.op(inputs);
    if (results.size() != wanted.size()) return "another number of results";
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!(results[i].shape() == wanted[i].shape)) return "another shape";
        const auto got = results[i].to_vector<double>();
        for (std::size_t k = 0; k < got.size(); ++k) {
            // The larger of 0 and -0 may be either.
            const bool any_zero = op.name == "max" || op.name == "min";
            if (same(got[k], wanted[i].data[k], any_zero)) continue;
            return fmt::format("{} instead of {} at {} of result {}", got[k], wanted[i].data[k], k,
                               i);
        }
    }
    return "";
}

const std::set<std::string>& exact_names() {
    static const std::set<std::string> all = [] {
        const auto& names = test::without_row().front().names;
        return std::set<std::string>(names.begin(), names.end());
    }();
    return all;
}

// Refuses weights that are not finite; sums; and rows that make their own NaN and infinities.
const std::set<std::string> kOthers{"multinomial", "index_put (added)", "isnan", "isfinite",
                                    "isinf",       "nan_to_num"};
bool is_other(const catalog::OpCase& op) {
    return kOthers.count(op.name) != 0 || kOthers.count(op.title()) != 0;
}
// Definitions in plain loops that leave open what becomes of NaN: order_test.cpp and
// reduction_test.cpp say it.
const std::set<std::string> kWithoutNan{"argmax",
                                        "argmin",
                                        "argsort",
                                        "kthvalue",
                                        "max",
                                        "max_pool1d",
                                        "max_pool2d",
                                        "max_with_indices",
                                        "median",
                                        "min",
                                        "min_with_indices",
                                        "searchsorted",
                                        "sort",
                                        "topk",
                                        "unique"};

}  // namespace

TEST_CASE("exact moves: numbers at the ends of their type arrive as they are") {
    const test::SettingsGuard restored_at_the_end;
    Generator generator(8);
    std::size_t tried = 0;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const catalog::OpCase& op : catalog::all_cases()) {
            if (exact_names().count(op.name) == 0 || is_other(op)) continue;
            for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
                for (std::size_t i = 0; i < op.samples.size(); ++i) {
                    Tensors inputs = catalog::make_inputs(op.samples[i], dtype, 17 + i);
                    for (Tensor& x : inputs) {
                        x = with_specials(x, kWithoutNan.count(op.name) == 0, generator);
                    }
                    const std::string what = difference(op, inputs);
                    CHECK_MESSAGE(what.empty(), op.title()
                                                    << " sample " << i << " in "
                                                    << std::string(name_of(dtype)) << " on "
                                                    << std::string(name_of(isa)) << ": " << what);
                    ++tried;
                }
            }
        }
    }
    CHECK_GE(tried, 1000);
}
