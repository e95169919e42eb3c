// Every elementwise function over the whole range of its type, denormals, largest numbers,
// infinities, NaN and near cancellation included, against long double, on every instruction set:
// within the bounds of range_rows.cpp. TAPESTRY_SWEEP=print prints the worst of each row.
#include <doctest/doctest.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/tests/ops/range_rows.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <set>

using namespace tapestry;
using test::Exact, test::RangeRow, test::Relative;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Format {
    DType dtype;
    int digits;       // of the significand
    int least, most;  // exponents of the smallest normal number, and of 2^most above the largest
    Exact largest() const { return std::ldexp(2 - std::ldexp(Exact(1), 1 - digits), most - 1); }
    Exact unit(Exact at) const {
        const int exponent = at == 0 ? least : std::max(std::ilogb(at), least);
        return std::ldexp(Exact(1), exponent - (digits - 1));
    }
};

constexpr Format kF32{DType::f32, 24, -126, 128}, kF64{DType::f64, 53, -1022, 1024},
    kBf16{DType::bf16, 8, -126, 128}, kF16{DType::f16, 11, -14, 16};

// x as a number of the format, rounded to nearest even.
double rounded_to(const Format& f, Exact x) {
    if (!std::isfinite(x) || x == 0) return static_cast<double>(x);
    const Exact unit = f.unit(x);
    const Exact nearest = std::nearbyint(x / unit) * unit;
    if (std::abs(nearest) > f.largest()) return std::copysign(kInf, static_cast<double>(x));
    return static_cast<double>(nearest);
}

// |got - wanted| in units; infinite where one is NaN or infinite and the other is not.
double units_off(const Format& f, double got, Exact wanted, Exact at) {
    if (std::isnan(got) || std::isnan(wanted))
        return std::isnan(got) == std::isnan(wanted) ? 0 : kInf;
    const double rounded = rounded_to(f, wanted);
    if (got == rounded) return 0;
    const Exact unit = f.unit(std::max(std::abs(wanted), at));
    if (std::isinf(got)) {  // overflowed too early: as far off as the smallest number beyond
        return static_cast<double>((f.largest() + f.unit(f.largest()) - std::abs(wanted)) / unit);
    }
    if (std::isinf(wanted)) return kInf;
    if (std::abs(wanted) < std::ldexp(Exact(1), f.least) &&
        std::abs(got) <= std::ldexp(1.0, f.least)) {
        return got == 0 || std::signbit(got) == std::signbit(wanted) ? 0 : kInf;
    }
    return static_cast<double>(std::abs(got - wanted) / unit);
}

// ---- arguments ----------------------------------------------------------------------------------

void add_around(std::vector<double>& x, const Format& f, Exact at, int steps = 2) {
    for (int i = -steps; i <= steps; ++i) x.push_back(static_cast<double>(at + i * f.unit(at)));
}

// Ends of ranges, and points near which functions cancel, change form, or have limits.
std::vector<double> special(const Format& f) {
    std::vector<double> x{0, kInf, std::numeric_limits<double>::quiet_NaN()};
    const Exact tiny = std::ldexp(Exact(1), f.least - (f.digits - 1));
    for (const Exact times : {1, 2, 3, 100, 1001}) x.push_back(static_cast<double>(times * tiny));
    add_around(x, f, std::ldexp(Exact(1), f.least));
    x.push_back(static_cast<double>(f.largest()));
    x.push_back(static_cast<double>(f.largest() - f.unit(f.largest())));
    for (const double at : {0.25, 0.46875, 0.5,  0.75, 1.0,   1.5,   2.0,   3.0,   4.0,  5.0,
                            5.5,  6.0,     8.0,  9.0,  10.0,  10.2,  13.0,  19.0,  26.0, 38.0,
                            87.3, 88.0,    88.4, 88.7, 103.0, 104.0, 708.4, 709.7, 745.0}) {
        add_around(x, f, at);
    }
    for (int i = 1; i < 40; ++i) add_around(x, f, i * std::numbers::pi_v<Exact> / 2, 1);
    for (int e = f.least; e < f.most; e += std::max(1, (f.most - f.least) / 40)) {
        x.push_back(std::ldexp(1.0, e));
    }
    const Exact end = std::log(f.largest());  // of exp; its lower one; where squares overflow
    for (const Exact at : {end, -std::log(tiny), end / 2, std::sqrt(f.largest()),
                           std::sqrt(std::ldexp(Exact(1), f.least)), std::cbrt(f.largest())}) {
        add_around(x, f, at);
    }
    const std::size_t count = x.size();
    for (std::size_t i = 0; i < count; ++i) x.push_back(-x[i]);
    return x;
}

std::vector<double> arguments(const Format& f, int count) {
    std::vector<double> x = special(f);
    Generator generator(17);
    const auto sign = [&] { return generator.uniform() < 0.5 ? -1.0 : 1.0; };
    for (int i = 0; i < count; ++i) {
        const double exponent =
            f.least - f.digits + generator.uniform() * (f.most - f.least + f.digits);
        x.push_back(sign() * std::exp2(std::floor(exponent)) * (1 + generator.uniform()));
        x.push_back(20 * (2 * generator.uniform() - 1));
        x.push_back(sign() * (1 + std::exp2(-f.digits * generator.uniform())));
        x.push_back(sign() * generator.uniform() * (f.digits > 24 ? 760 : 110));
        x.push_back(sign() * std::exp2(12 * generator.uniform() - 8));
    }
    for (double& value : x) value = rounded_to(f, value);
    return x;
}

// 1, or more where instructions are slow (ops/check_case.h): how much is left out.
int thinning() { return std::getenv("TAPESTRY_ROWS") != nullptr ? 16 : 1; }

// All numbers of a format of 16 bits.
std::vector<double> all_of(DType dtype) {
    std::vector<double> x;
    for (int bits = 0; bits < 65536; bits += thinning()) {
        const auto b = static_cast<std::uint16_t>(bits);
        x.push_back(dtype == DType::bf16 ? f32_from_bf16(b) : f32_from_f16(b));
    }
    return x;
}

struct Samples {
    std::vector<double> a, b;
};

Samples samples(const Format& f, int operands) {
    if (operands == 1 && is_half(f.dtype)) return {all_of(f.dtype), {}};
    if (operands == 1) return {arguments(f, 1500 / thinning()), {}};
    const std::vector<double> many = arguments(f, 4000 / thinning());
    std::vector<double> points = special(f);
    for (double& x : points) x = rounded_to(f, x);
    Samples s;
    for (std::size_t i = 0; i < points.size(); i += 3) {
        for (std::size_t j = 0; j < points.size(); j += 2) {
            s.a.push_back(points[i]);
            s.b.push_back(points[j]);
        }
    }
    Generator generator(18);
    for (std::size_t i = 0; i < many.size(); ++i) {
        s.a.push_back(many[i]);
        s.b.push_back(
            many[static_cast<std::size_t>(generator.uniform() * static_cast<double>(many.size()))]);
    }
    for (int base = 2; base < 40; ++base) {
        for (int power = -20; power <= 20; ++power) {
            s.a.push_back(base);
            s.b.push_back(power);
        }
    }
    return s;
}

// ---- the walk -----------------------------------------------------------------------------------

struct Worst {
    double units = 0;
    std::size_t at = 0;
    double got = 0;
};

double bound(const RangeRow& row, DType dtype) {
    return dtype == DType::f32   ? row.units_f32
           : dtype == DType::f64 ? row.units_f64
                                 : row.units_half;
}

Tensor as_tensor(const std::vector<double>& x, DType dtype) {
    return to(tensor(x, {static_cast<std::int64_t>(x.size())}), dtype);
}

// Where a unit is measured; 0 for the result itself.
Exact measured_at(Relative relative, Exact x, Exact y) {
    switch (relative) {
        case Relative::to_result: return 0;
        case Relative::to_argument: return x;
        case Relative::to_small_argument: return std::min<Exact>(x, 1);
        case Relative::to_one: return 1;
        case Relative::to_pole: return std::max(std::min<Exact>(x, 1), y * y * 0x1p-40L);
    }
    return 0;
}

Worst worst_of(const RangeRow& row, const Format& f, const Samples& s,
               const std::vector<Exact>& wanted) {
    const Tensor a = as_tensor(s.a, f.dtype);
    const auto got = row.op(a, s.b.empty() ? a : as_tensor(s.b, f.dtype)).to_vector<double>();
    Worst worst;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const Exact at = measured_at(row.relative, std::abs(Exact(s.a[i])), std::abs(wanted[i]));
        const double units = units_off(f, got[i], wanted[i], std::isfinite(at) ? at : 0);
        if (units > worst.units) worst = {units, i, got[i]};
    }
    return worst;
}

void walk(const RangeRow& row, const Format& f, const std::vector<Isa>& isas,
          bool only_cubes_in_range = false) {
    Samples s = samples(f, row.operands);
    const double most = static_cast<double>(std::cbrt(f.largest()) / 4);
    if (only_cubes_in_range) std::erase_if(s.a, [&](double x) { return std::abs(x) > most; });
    std::vector<Exact> wanted;
    for (std::size_t i = 0; i < s.a.size(); ++i) {
        wanted.push_back(row.exact(s.a[i], s.b.empty() ? 0 : s.b[i]));
    }
    for (const Isa isa : isas) {
        set_isa(isa);
        const Worst worst = worst_of(row, f, s, wanted);
        const std::string isa_name(name_of(isa)), type(name_of(f.dtype));
        if (std::getenv("TAPESTRY_SWEEP") != nullptr) {
            std::printf("%-13s %-15s %-5s %-9s %12.4g %s at %.9g %.9g: %.9g for %.9Lg\n",
                        row.name.c_str(), row.variant.c_str(), type.c_str(), isa_name.c_str(),
                        worst.units, worst.units > bound(row, f.dtype) ? "BAD" : "ok",
                        s.a[worst.at], s.b.empty() ? 0 : s.b[worst.at], worst.got,
                        wanted[worst.at]);
        }
        CHECK_MESSAGE(worst.units <= bound(row, f.dtype),
                      row.name << " (" << row.variant << ") in " << type << " on " << isa_name
                               << ": " << worst.units << " units off at " << s.a[worst.at] << " "
                               << (s.b.empty() ? 0 : s.b[worst.at]) << ": " << worst.got
                               << " instead of " << static_cast<double>(wanted[worst.at]));
    }
}

}  // namespace

TEST_CASE("range: elementwise functions over their whole range, within their bounds") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const test::SettingsGuard restored_at_the_end;
    const std::vector<Isa> all = available_isas(), last{all.back()};
    for (const RangeRow& row : test::range_rows()) {
        walk(row, kF32, all);
        walk(row, kF64, all);
        walk(row, kBf16, last);
        walk(row, kF16, last);
    }
}

TEST_CASE("range: composed activations of numbers whose cubes are in range") {
    if (!test::kHasExact) return test::skip("no long double here is better than a double");
    const FusionGuard off(false);
    for (RangeRow row : test::range_rows()) {
        if (row.name != "silu" && row.name != "gelu") continue;
        row.units_f32 *= 8;
        row.units_f64 *= 8;
        for (const Format& f : {kF32, kF64}) walk(row, f, {available_isas().back()}, true);
    }
}

TEST_CASE("range: every function of the catalogue has a bound, or a reason to have none") {
    std::set<std::string> known;
    for (const RangeRow& row : test::range_rows()) known.insert(row.name);
    for (const test::VectorBound& bound : test::vector_bounds()) known.insert(bound.name);
    for (const test::ClassicalBound& group : test::classical_bounds()) {
        known.insert(group.names.begin(), group.names.end());
    }
    for (const test::WithoutRow& group : test::without_row()) {
        for (const std::string& name : group.names) {
            CHECK_MESSAGE(known.insert(name).second, name << " has a row and a reason for none");
        }
    }
    for (const catalog::OpCase& op : catalog::all_cases()) {
        CHECK_MESSAGE(known.count(op.name) == 1,
                      op.name << ": neither in range_rows.cpp nor in accuracy_section.cpp");
    }
}
