// Accuracy of the functions of ops/elementwise.h and ops/rounding.h on every instruction set: in
// units in the last place against C's in long double, over their domains, near zero, and at the
// ends of the range. (The catalogue's tolerance is relative to the largest value, which does not
// test log1p(1e-10).)
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/rounding.h>
#include <tapestry/tests/settings.h>

#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

using Exact = long double;
constexpr double kAllowed = 4;  // units in the last place

// |got - wanted| in units in the last place of `wanted` as a T; 0 if both are NaN, or equal.
template <class T>
double units_off(T got, Exact wanted) {
    constexpr double kHopeless = std::numeric_limits<double>::infinity();
    if (std::isnan(wanted) || std::isnan(got))
        return std::isnan(wanted) == std::isnan(got) ? 0 : kHopeless;
    const T rounded = static_cast<T>(wanted);
    if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : kHopeless;
    using Limits = std::numeric_limits<T>;
    const int exponent = std::max(rounded == 0 ? 0 : std::ilogb(rounded), Limits::min_exponent - 1);
    const Exact unit = std::ldexp(Exact(1), exponent - (Limits::digits - 1));
    const bool sign_lost = got == 0 && wanted == 0 && std::signbit(got) != std::signbit(wanted);
    return sign_lost ? kHopeless : static_cast<double>(std::abs((got - wanted) / unit));
}

struct Function {
    const char* name;
    Tensor (*op)(const Tensor&);
    Exact (*exact)(Exact);
    double low, high;  // sampled evenly, and by powers of ten toward 0
    double allowed = kAllowed;
};

// Values that random numbers miss. Outside C's domain both give NaN.
template <class T>
std::vector<T> special() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values{0,
                          1,
                          2,
                          T(0.5),
                          T(1.5),
                          T(2.5),
                          T(0.46875),
                          T(1e-20),
                          100,
                          T(88.8),
                          710,
                          T(8388609.5),
                          T(4503599627370497.5),
                          T(1e10),
                          T(1e30),
                          Limits::denorm_min(),
                          T(100) * Limits::denorm_min(),
                          Limits::min(),
                          Limits::max(),
                          Limits::infinity(),
                          Limits::quiet_NaN()};
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
    return values;
}

template <class T>
std::vector<T> arguments(const Function& function) {
    std::vector<T> values = special<T>();
    Generator generator(3);
    for (int i = 0; i < 1000; ++i) {
        const double even = generator.uniform();
        const double side = generator.uniform() < 0.5 ? function.low : function.high;
        values.push_back(static_cast<T>(function.low + even * (function.high - function.low)));
        values.push_back(static_cast<T>(side * std::pow(10.0, -20 * generator.uniform())));
    }
    return values;
}

template <class T>
void check_function(const Function& function) {
    const std::vector<T> x = arguments<T>(function);
    const Tensor y = function.op(tensor(x, {static_cast<std::int64_t>(x.size())}));
    const T* got = y.data<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Exact wanted = function.exact(static_cast<Exact>(x[i]));
        const double off = units_off(got[i], wanted);
        CHECK_MESSAGE(off <= function.allowed,
                      function.name << "(" << x[i] << ") = " << got[i] << " on "
                                    << std::string(name_of(current_isa())) << ", " << off
                                    << " units from " << static_cast<double>(wanted));
    }
}

Exact sign_of(Exact x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

template <class F>
void on_every_isa(F f) {
    const test::SettingsGuard restored_at_the_end;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        f();
    }
}

}  // namespace

TEST_CASE("transcendental: exact to four units in the last place") {
    const Function functions[] = {
        {"log1p", log1p, std::log1p, -0.99, 50}, {"expm1", expm1, std::expm1, -20, 20},
        {"log2", log2, std::log2, -0.5, 10},     {"log10", log10, std::log10, -0.5, 10},
        {"erf", erf, std::erf, -7, 7},           {"tan", tan, std::tan, -10, 10},
        {"asin", asin, std::asin, -1, 1},        {"acos", acos, std::acos, -1, 1},
        {"atan", atan, std::atan, -10, 10},      {"sinh", sinh, std::sinh, -10, 10},
        {"cosh", cosh, std::cosh, -10, 10}};
    on_every_isa([&] {
        for (const Function& function : functions) {
            check_function<float>(function);
            check_function<double>(function);
        }
    });
}

// Results near the largest number: the last half power of two, which xsimd's exp cannot reach.
template <class T>
void check_last_numbers() {
    const Exact end = std::log(static_cast<Exact>(std::numeric_limits<T>::max()));
    for (const Exact before : {1.0L, 0.7L, 0.35L, 0.34L, 0.2L, 0.01L, 1e-3L}) {
        const T x = static_cast<T>(end - before);
        const Exact wanted = std::exp(static_cast<Exact>(x));
        const Tensor at = tensor<T>({x});
        CAPTURE(x);
        CHECK(units_off(exp(at).data<T>()[0], wanted) <= kAllowed);
        CHECK(units_off(expm1(at).data<T>()[0], wanted) <= kAllowed);
        const auto exponent = static_cast<T>(std::log2(wanted));
        const Exact power = std::exp2(static_cast<Exact>(exponent));
        const Exact got = pow(tensor<T>({2}), tensor<T>({exponent})).template data<T>()[0];
        CHECK(std::abs(got / power - 1) < 1000 * std::numeric_limits<T>::epsilon());
    }
    const Tensor beyond = tensor<T>({static_cast<T>(end + 0.01L)});
    CHECK(std::isinf(exp(beyond).item()));
    CHECK(std::isinf(expm1(beyond).item()));
    CHECK(std::isinf(
        pow(tensor<T>({2}), tensor<T>({std::numeric_limits<T>::max_exponent + 1})).item()));
}

TEST_CASE("exp, expm1, pow: up to the largest numbers") {
    on_every_isa([] {
        check_last_numbers<float>();
        check_last_numbers<double>();
    });
}

TEST_CASE("rounding: exact, halves to even, the sign of zero kept") {
    const Function functions[] = {{"sign", sign, sign_of, -10, 10, 0},
                                  {"floor", floor, std::floor, -10, 10, 0},
                                  {"ceil", ceil, std::ceil, -10, 10, 0},
                                  {"round", round, std::nearbyint, -10, 10, 0},
                                  {"trunc", trunc, std::trunc, -10, 10, 0}};
    on_every_isa([&] {
        for (const Function& function : functions) {
            check_function<float>(function);
            check_function<double>(function);
        }
    });
}

TEST_CASE("atan2: every corner, axis and infinity as C has them") {
    on_every_isa([] {
        const auto values = special<float>();
        const Tensor all = tensor(values, {static_cast<std::int64_t>(values.size())});
        for (const float y : values) {
            const Tensor angle = atan2(full({}, y), all);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const Exact wanted =
                    std::atan2(static_cast<Exact>(y), static_cast<Exact>(values[i]));
                const float got = angle.data<float>()[i];
                CHECK_MESSAGE(units_off(got, wanted) <= kAllowed,
                              "atan2(" << y << ", " << values[i] << ") = " << got << ", not "
                                       << static_cast<double>(wanted));
            }
        }
    });
}

TEST_CASE("tanh: each derivative of a recorded gradient is one entry, at any order") {
    const Tensor x = tensor<double>({-0.7, 0, 1.3, 20}).set_requires_grad();
    Tape tape;
    const GradientOptions again{.create_graph = true};
    const Tensor y = tanh(x);
    const std::size_t before = tape.entries().size();
    const Tensor first = tape.gradient(sum(y), {x}, again)[0];
    std::vector<std::string> names;
    for (std::size_t i = before; i < tape.entries().size(); ++i) {
        const std::string& name = tape.entries()[i]->name();
        if (name != "sum" && name != "expand") names.push_back(name);
    }
    CHECK_EQ(names, std::vector<std::string>{"tanh_grad"});
    const Tensor second = tape.gradient(sum(first), {x}, again)[0];
    const Tensor third = tape.gradient(sum(second), {x}, again)[0];
    const Tensor fourth = tape.gradient(sum(third), {x})[0];
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        const double t = std::tanh(x.at({i})), slope = 1 - t * t;
        CHECK(std::abs(first.at({i}) - slope) < 1e-14);
        CHECK(std::abs(second.at({i}) + 2 * t * slope) < 1e-14);
        CHECK(std::abs(third.at({i}) - slope * (6 * t * t - 2)) < 1e-14);
        CHECK(std::abs(fourth.at({i}) - slope * t * (16 - 24 * t * t)) < 1e-13);
    }
}
