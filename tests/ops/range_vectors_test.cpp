// Reductions, norms and softmax of vectors whose numbers, squares or sums leave the range of the
// type, or nearly cancel, against long double, on every instruction set.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/norm.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

using namespace tapestry;
using test::Exact;

namespace {

using Numbers = std::vector<Exact>;
using In = const Numbers&;

constexpr double kEps = 1e-5;

struct VectorRow {
    std::string name;
    std::function<Tensor(const Tensor&)> op;
    std::function<Numbers(In)> exact;
    std::function<Exact(In, In)> at;  // of input and result: where a unit is measured
    Exact (*overflows)(In) = [](In /*x*/) { return Exact(0); };  // skipped if that is out of range
};

Exact sum_of(In x) { return std::accumulate(x.begin(), x.end(), Exact(0)); }
Exact size_of_all(In x) {
    Exact total = 0;
    for (const Exact v : x) total += std::abs(v);
    return total;
}
Exact largest(In x) {
    Exact most = 0;
    for (const Exact v : x) most = std::max(most, std::abs(v));
    return most;
}
Numbers mapped(In x, const std::function<Exact(Exact)>& f) {
    Numbers y;
    for (const Exact v : x) y.push_back(f(v));
    return y;
}
// x - mean, with differences from the first, so that a mean far from zero loses nothing.
Numbers deviations(In x) {
    const Numbers d = mapped(x, [&](Exact v) { return v - x[0]; });
    const Exact mean = sum_of(d) / static_cast<Exact>(x.size());
    return mapped(d, [&](Exact v) { return v - mean; });
}
Exact mean_of(In x) { return x[0] - deviations(x)[0]; }
Exact sum_of_squares_of(In x) {
    return sum_of(mapped(x, [](Exact v) { return v * v; }));
}
Exact variance_of(In x, int correction) {
    return sum_of_squares_of(deviations(x)) /
           static_cast<Exact>(static_cast<int>(x.size()) - correction);
}
Exact norm_of(In x, Exact p) {
    const Exact m = largest(x);
    if (m == 0) return 0;
    return m * std::pow(sum_of(mapped(x, [&](Exact v) { return std::pow(std::abs(v) / m, p); })),
                        1 / p);
}
Numbers norm_slopes(In x, Exact p) {
    const Exact y = norm_of(x, p);
    return mapped(x, [&](Exact v) {
        const Exact size = v == 0 || y == 0 ? 0 : std::pow(std::abs(v) / y, p - 1);
        return v < 0 ? -size : size;
    });
}
Numbers normalized(In x, bool centred) {
    const Numbers d = centred ? deviations(x) : x;
    const Exact variance = sum_of_squares_of(d) / static_cast<Exact>(x.size());
    return mapped(d, [&](Exact v) { return v / std::sqrt(variance + Exact(kEps)); });
}
Numbers softmax_of(In x) {
    const Exact most = *std::max_element(x.begin(), x.end());
    const Numbers e = mapped(x, [&](Exact v) { return std::exp(v - most); });
    const Exact total = sum_of(e);
    return mapped(e, [&](Exact v) { return v / total; });
}
Exact logsumexp_of(In x) {
    const Exact most = *std::max_element(x.begin(), x.end());
    return most + std::log(sum_of(mapped(x, [&](Exact v) { return std::exp(v - most); })));
}

// Linear between the two nearest in order.
Exact quantile_of(Numbers x, double q) {
    std::sort(x.begin(), x.end());
    const Exact at = Exact(q) * static_cast<Exact>(x.size() - 1);
    const auto before = static_cast<std::size_t>(at);
    const Exact next = x[std::min(before + 1, x.size() - 1)];
    return x[before] + (next - x[before]) * (at - static_cast<Exact>(before));
}

Tensor slope(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
    const Tensor leaf = x.clone().set_requires_grad();
    Tape tape;
    return tape.gradient(sum(f(leaf)), {leaf})[0];
}

Tensor batch_of_one_channel(const Tensor& x) {
    return reshape(batch_norm(reshape(x, {x.size(0), 1}), {}, {}, kEps), x.shape());
}
Tensor images_of_one_channel(const Tensor& x) {
    return reshape(group_norm(reshape(x, {1, 1, x.size(0)}), 1, {}, {}, kEps), x.shape());
}

std::vector<VectorRow> sums() {
    const auto mean_size = [](In x, In /*y*/) {
        return size_of_all(x) / static_cast<Exact>(x.size());
    };
    const auto with_mean = [](In x, In y) { return y[0] + mean_of(x) * mean_of(x) * 0x1p-24L; };
    return {
        {"sum", [](const Tensor& x) { return sum(x); }, [](In x) { return Numbers{sum_of(x)}; },
         [](In x, In /*y*/) { return size_of_all(x); }, size_of_all},
        {"mean", [](const Tensor& x) { return mean(x); }, [](In x) { return Numbers{mean_of(x)}; },
         mean_size},
        {"var", [](const Tensor& x) { return var(x); },
         [](In x) { return Numbers{variance_of(x, 1)}; }, with_mean},
        {"stddev", [](const Tensor& x) { return stddev(x); },
         [](In x) { return Numbers{std::sqrt(variance_of(x, 1))}; },
         [](In x, In y) {
             return y[0] + mean_of(x) * mean_of(x) / std::max<Exact>(y[0], 1e-4900L) * 0x1p-24L;
         }},
        {"logsumexp", [](const Tensor& x) { return logsumexp(x); },
         [](In x) { return Numbers{logsumexp_of(x)}; },
         [](In /*x*/, In /*y*/) { return Exact(0); }},
        {"softmax", [](const Tensor& x) { return softmax(x); }, softmax_of,
         [](In /*x*/, In /*y*/) { return Exact(1); }},
        {"log_softmax", [](const Tensor& x) { return log_softmax(x); },
         [](In x) {
             const Exact total = logsumexp_of(x);
             return mapped(x, [&](Exact v) { return v - total; });
         },
         [](In x, In /*y*/) { return largest(x); }},
        {"cross_entropy",
         [](const Tensor& x) {
             return cross_entropy(reshape(x, {1, x.numel()}), zeros({1}, DType::i64));
         },
         [](In x) { return Numbers{logsumexp_of(x) - x[0]}; },
         [](In x, In /*y*/) { return largest(x); }},
        {"quantile", [](const Tensor& x) { return quantile(x, 0.3); },
         [](In x) { return Numbers{quantile_of(x, 0.3)}; },
         [](In x, In /*y*/) { return largest(x); }},
    };
}

std::vector<VectorRow> norms() {
    std::vector<VectorRow> rows;
    const auto to_result = [](In /*x*/, In /*y*/) { return Exact(0); };
    const auto to_one = [](In /*x*/, In /*y*/) { return Exact(1); };
    for (const double p : {2.0, 3.0, 4.0, 0.5, 1.5}) {
        const auto f = [p](const Tensor& x) { return norm(x, p); };
        rows.push_back({fmt::format("norm, p = {}", p), f,
                        [p](In x) { return Numbers{norm_of(x, Exact(p))}; }, to_result});
        if (p < 1) continue;
        rows.push_back({fmt::format("norm, p = {}, gradient", p),
                        [f](const Tensor& x) { return slope(x, f); },
                        [p](In x) { return norm_slopes(x, Exact(p)); }, to_one,
                        [](In x) { return norm_of(x, 1); }});
    }
    const auto centred = [](In x) { return normalized(x, true); };
    const auto largest_result = [](In /*x*/, In y) { return std::max<Exact>(1, largest(y)); };
    rows.push_back({"layer_norm", [](const Tensor& x) { return layer_norm(x, {}, {}, kEps); },
                    centred, largest_result});
    rows.push_back({"rms_norm", [](const Tensor& x) { return rms_norm(x, {}, kEps); },
                    [](In x) { return normalized(x, false); }, largest_result});
    rows.push_back({"batch_norm", batch_of_one_channel, centred, largest_result});
    rows.push_back({"group_norm", images_of_one_channel, centred, largest_result});
    return rows;
}

struct Type {
    DType dtype;
    int digits, least, most;
};
constexpr Type kTypes[] = {{DType::f32, 24, -126, 128}, {DType::f64, 53, -1022, 1024}};

// Numbers of one size, with and without an offset; of many sizes; equal ones.
std::vector<std::vector<double>> vectors(const Type& type) {
    std::vector<std::vector<double>> all;
    Generator generator(5);
    const int end = type.most - 3;
    for (const int n : {2, 19, 64, 300}) {
        for (const int exponent :
             {-end, -end * 3 / 4, -end / 2, -end / 4, 0, end / 4, end / 2 + 1, end * 3 / 4, end}) {
            for (const double offset : {0.0, 3.0, 100.0, 1e3, 1e4, 1e6}) {
                if (exponent + std::log2(offset + 4) > type.most - 1) continue;
                std::vector<double> x;
                for (int i = 0; i < n; ++i) {
                    const double v = std::ldexp(offset + 2 * generator.uniform() - 1, exponent);
                    x.push_back(
                        type.dtype == DType::f32 ? static_cast<double>(static_cast<float>(v)) : v);
                }
                all.push_back(x);
            }
            all.emplace_back(n, std::ldexp(1.0, exponent));
        }
        std::vector<double> mixed;
        for (int i = 0; i < n; ++i) {
            mixed.push_back(std::ldexp(i % 2 == 0 ? 1.0 : -1.0,
                                       static_cast<int>((2 * generator.uniform() - 1) * end)));
        }
        all.push_back(mixed);
    }
    return all;
}

double units_off(const Type& t, double got, Exact wanted, Exact at) {
    const Exact most = std::ldexp(Exact(1), t.most);
    if (std::isnan(wanted) != std::isnan(got)) return HUGE_VAL;
    if (std::isnan(wanted) || Exact(got) == wanted) return 0;
    if (std::isinf(got))
        return std::abs(wanted) >= most * (1 - std::ldexp(Exact(16), -t.digits)) ? 0 : HUGE_VAL;
    const Exact scale = std::max(std::abs(wanted), std::abs(at));
    const int exponent = std::max(scale == 0 ? t.least : std::ilogb(scale), t.least);
    return static_cast<double>(std::abs(got - wanted) /
                               std::ldexp(Exact(1), exponent - t.digits + 1));
}

// The bound of "norm, p = 3, gradient" is that of "norm, gradient".
double bound_of(const std::string& name) {
    const auto comma = name.find(", p =");
    const bool gradient = name.ends_with(", gradient");
    const std::string title =
        comma == std::string::npos ? name : name.substr(0, comma) + (gradient ? ", gradient" : "");
    for (const test::VectorBound& bound : test::vector_bounds()) {
        if (bound.name == title) return bound.units;
    }
    FAIL("no bound for " << name);
    return 0;
}

// Numbers whose squares are in range, and their mean not far from zero.
bool is_tame(In x, const Type& type) {
    const Exact deviation = std::sqrt(variance_of(x, 0));
    return std::ilogb(largest(x)) < type.most / 2 - 6 && std::abs(mean_of(x)) <= 1e3L * deviation;
}

void check_row(const VectorRow& row, const Type& type, bool composed = false) {
    const double allowed = bound_of(row.name) * (composed ? 8 : 1);
    double worst = 0;
    std::string where;
    for (const std::vector<double>& values : vectors(type)) {
        const Numbers x(values.begin(), values.end());
        if (row.overflows(x) > std::ldexp(Exact(1), type.most)) continue;
        if (composed && !is_tame(x, type)) continue;
        const Numbers wanted = row.exact(x);
        const Tensor given = tensor(values, {static_cast<std::int64_t>(values.size())});
        const Tensor y =
            row.op(type.dtype == DType::f32
                       ? tensor(std::vector<float>(values.begin(), values.end()), given.shape())
                       : given);
        const auto got = y.to_vector<double>();
        const Exact at = row.at(x, wanted);
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double off = units_off(type, got[i], wanted[i], at);
            if (off <= worst) continue;
            worst = off;
            where = fmt::format("{} instead of {} for {} numbers like {}, {}", got[i],
                                static_cast<double>(wanted[i]), x.size(), values[0], values[1]);
        }
    }
    CHECK_MESSAGE(worst <= allowed, row.name << " in " << std::string(name_of(type.dtype)) << " on "
                                             << std::string(name_of(current_isa())) << ": " << worst
                                             << " units off, " << where);
    if (std::getenv("TAPESTRY_SWEEP") != nullptr) {
        std::printf("%-26s %s %-12s %.4g\n", row.name.c_str(),
                    std::string(name_of(type.dtype)).c_str(),
                    std::string(name_of(current_isa())).c_str(), worst);
    }
}

}  // namespace

TEST_CASE("range: reductions, norms and softmax of vectors at the ends of the range") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const test::SettingsGuard restored_at_the_end;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const auto& rows : {sums(), norms()}) {
            for (const VectorRow& row : rows) {
                for (const Type& type : kTypes) check_row(row, type);
            }
        }
    }
}

TEST_CASE("range: composed norms and softmax of numbers whose squares are in range") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const FusionGuard off(false);
    for (const auto& rows : {sums(), norms()}) {
        for (const VectorRow& row : rows) {
            if (row.name.find("_norm") == row.name.npos &&
                row.name.find("softmax") == row.name.npos)
                continue;
            for (const Type& type : kTypes) check_row(row, type, true);
        }
    }
}

namespace {

using Norm = Tensor (*)(const Tensor&);

// The gradient of a norm, weighted so that it is not 0.
Tensor norm_slope(const Tensor& x, Norm norm) {
    const Tensor weights = sin(to(arange(x.numel()), x.dtype()));
    return slope(x, [&](const Tensor& v) { return mul(norm(v), weights); });
}

double most(const Tensor& x) { return max(abs(x)).item(); }

}  // namespace

TEST_CASE(
    "range: gradients of norms of large and small rows, and far from zero, are those in f64") {
    const Norm norms[] = {
        [](const Tensor& x) { return layer_norm(x, {}, {}, 0); },
        [](const Tensor& x) { return rms_norm(x, {}, 0); },
        [](const Tensor& x) {
            return reshape(batch_norm(reshape(x, {x.size(0), 1}), {}, {}, 0), x.shape());
        },
        [](const Tensor& x) {
            return reshape(group_norm(reshape(x, {1, 1, x.size(0)}), 1, {}, {}, 0), x.shape());
        }};
    const test::SettingsGuard restored_at_the_end;
    Generator generator(8);
    const Tensor rows = randn({77}, generator);
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        for (const Norm norm : norms) {
            for (const double size : {1e-36, 1e-30, 1e-10, 1.0, 1e10, 1e19, 1e30, 5e37}) {
                for (const double mean : {0.0, 30.0, 1e3, 1e5}) {
                    if (mean * size > 1e38) continue;
                    const Tensor x = mul(add(rows, mean), size);
                    const Tensor got = norm_slope(x, norm), y = norm(x);
                    const Tensor wanted = norm_slope(to(x, DType::f64), norm);
                    const Tensor exact = norm(to(x, DType::f64));
                    CAPTURE(size);
                    CAPTURE(mean);
                    CHECK_LT(most(sub(to(y, DType::f64), exact)), 1e-5);
                    CHECK_LT(most(sub(to(got, DType::f64), wanted)), 1e-5 * most(wanted) + 1e-38);
                }
            }
        }
    }
}

TEST_CASE("group_norm: a group of one number gives the bias, and no gradient") {
    Tensor x = tensor<double>({{3, -1e30}});
    x.set_requires_grad();
    const Tensor weight = tensor<double>({2, 2}), bias = tensor<double>({5, 7});
    Tape tape;
    const Tensor y = group_norm(x, 2, weight, bias);
    CHECK(y.to_vector<double>() == std::vector<double>{5, 7});
    tape.backward(sum(y));
    CHECK(x.grad().to_vector<double>() == std::vector<double>{0, 0});
}
