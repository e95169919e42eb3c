// Powers of zero, infinity and NaN, which random samples miss, and which derivatives at 0 need.
#include <tapestry/core/cpu.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/support.h>

#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

class RestoreIsa {
public:
    RestoreIsa() = default;
    ~RestoreIsa() { set_isa(before_); }
    RestoreIsa(const RestoreIsa&) = delete;
    RestoreIsa& operator=(const RestoreIsa&) = delete;

private:
    Isa before_ = current_isa();
};

template <class T>
void compare_with_c() {
    const T inf = INFINITY, nan = NAN;
    const std::vector<T> bases{0, -T(0), 1, -1, 2, -2, T(0.5), inf, -inf, nan};
    // The last ones are odd, even, and so large that all are even.
    const T even = std::ldexp(T(1), std::numeric_limits<T>::digits);
    const std::vector<T> exponents{0,        T(-0.5), -1,       -2,    -3,      T(0.5),
                                   T(1),     2,       3,        inf,   -inf,    nan,
                                   even - 1, even,    4 * even, -even, T(1e30), 1 - even};
    const auto count = static_cast<std::int64_t>(exponents.size());
    for (const T a : bases) {
        const Tensor y = pow(tensor<T>({a}), tensor(exponents, {count}));
        for (std::size_t i = 0; i < exponents.size(); ++i) {
            CAPTURE(a);
            CAPTURE(exponents[i]);
            const T got = y.at<T>({static_cast<std::int64_t>(i)});
            const T wanted = std::pow(a, exponents[i]);
            CHECK_EQ(std::isnan(got), std::isnan(wanted));
            if (std::isnan(wanted)) continue;
            CHECK_EQ(std::signbit(got), std::signbit(wanted));
            CHECK((got == wanted || std::abs(got - wanted) < T(1e-6)));
        }
    }
}

}  // namespace

TEST_CASE("pow: zero, infinity and NaN as C has them") {
    const RestoreIsa restore;
    for (const Isa isa : available_isas()) {
        set_isa(isa);
        compare_with_c<float>();
        compare_with_c<double>();
    }
}

TEST_CASE("pow: derivatives at zero") {
    const double expected[][5] = {
        {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 2, 0, 0}, {0, 0, 0, 6, 0}};
    for (int exponent = 0; exponent < 4; ++exponent) {
        for (const bool as_tensor : {false, true}) {
            const Tensor x = scalar(0, DType::f64).set_requires_grad();
            Tape tape;
            Tensor y = as_tensor ? pow(x, scalar(exponent, DType::f64))
                                 : pow(x, static_cast<double>(exponent));
            for (const double value : expected[exponent]) {
                CHECK_EQ(y.item(), value);
                if (!tape.follows(y)) break;
                y = tape.gradient(y, {x}, {.create_graph = true})[0];
            }
        }
    }
}
