// Right gradients far from where numbers are dense, or next to where f ends: large arguments, data
// far from the origin, rotations by small angles, steps chosen by an error estimate, rows of nearly
// equal numbers.
#include <tapestry/tests/mutations/templates/template.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;
using Vector = std::array<double, 3>;

constexpr double kRounded = 2e-16;

// 2 sum of sin(x_i), x up to 1e14: between two neighbours the argument moves by 0.02
PlainCase large_argument(Draw& draw) {
    const double size = draw.log_between(1e4, 1e14);
    PlainCase one = scalar_case(
        [](const Values& x) {
            double sum = 0;
            for (const double a : x) sum += 2 * std::sin(a);
            return sum;
        },
        [](Values x) {
            for (double& a : x) a = 2 * std::cos(a);
            return x;
        },
        draw.values(draw.count(1, 5), size, 2 * size));
    one.noise = kRounded * size;
    one.room = 0.3;
    one.note = fmt::format("size {:.0e}", size);
    return one;
}

// The mean of squares less the square of the mean, of numbers far from 0
PlainCase one_pass_variance(Draw& draw) {
    const double far = draw.log_between(1, 1e8);
    PlainCase one = scalar_case(
        [](const Values& x) {
            const auto n = static_cast<double>(x.size());
            const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
            return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / n - mean * mean;
        },
        [](const Values& x) {
            const auto n = static_cast<double>(x.size());
            const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
            Values g;
            for (const double a : x) g.push_back(2 * (a - mean) / n);
            return g;
        },
        draw.values(draw.count(2, 20), far, far + 2));
    one.noise = kRounded * far * far * 4;
    one.note = fmt::format("{:.0e} from 0", far);
    return one;
}

// The area of a polygon, by cross products of corners far from the origin
PlainCase area(Draw& draw) {
    const std::size_t corners = draw.count(3, 12);
    const double far = draw.log_between(1, 1e8);
    Values x;
    for (std::size_t i = 0; i < corners; ++i) {
        const double angle = (static_cast<double>(i) + draw.between(0, 0.8)) * 6.28 / 12;
        x.push_back(far + std::cos(angle));
        x.push_back(far + std::sin(angle));
    }
    PlainCase one = scalar_case(
        [](const Values& p) {
            double sum = 0;
            for (std::size_t i = 0, n = p.size(); i < n; i += 2) {
                sum += p[i] * p[(i + 3) % n] - p[(i + 2) % n] * p[i + 1];
            }
            return sum / 2;
        },
        [](const Values& p) {
            Values g(p.size());
            for (std::size_t i = 0, n = p.size(); i < n; i += 2) {
                const std::size_t next = (i + 2) % n, last = (i + n - 2) % n;
                g[i] = (p[next + 1] - p[last + 1]) / 2;
                g[i + 1] = (p[last] - p[next]) / 2;
            }
            return g;
        },
        std::move(x));
    one.noise = kRounded * far * far * 4;
    one.note = fmt::format("{:.0e} from the origin", far);
    return one;
}

// ---- rotations ----------------------------------------------------------------------------------

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// Slopes of sin t / t and of (1 - cos t) / t^2, each over t, for t up to 0.1
double slope_of_sine(double t) {
    const double q = t * t;
    return -1.0 / 3 + q * (1.0 / 30 + q * (-1.0 / 840 + q / 45360));
}
double slope_of_cosine(double t) {
    const double q = t * t;
    return -1.0 / 12 + q * (1.0 / 180 + q * (-1.0 / 6720 + q / 453600));
}

// Rodrigues' formula as written: p turned by w, an angle of 1e-7 to 0.1
PlainCase rotation(Draw& draw) {
    const Values drawn = draw.values(3);
    const Vector p{drawn[0], drawn[1], drawn[2]};
    const auto vector = [](const Values& w) { return Vector{w[0], w[1], w[2]}; };
    PlainCase one;
    one.f = [=](const Values& x) {
        const Vector w = vector(x);
        const double t = std::sqrt(dot(w, w)), a = std::sin(t) / t, b = (1 - std::cos(t)) / (t * t);
        const Vector once = cross(w, p), again = cross(w, once);
        return Values{p[0] + a * once[0] + b * again[0], p[1] + a * once[1] + b * again[1],
                      p[2] + a * once[2] + b * again[2]};
    };
    one.pullback = [=](const Values& x, const Values& incoming) {
        const Vector w = vector(x), g{incoming[0], incoming[1], incoming[2]};
        const double q = dot(w, w), t = std::sqrt(q), wp = dot(w, p), gw = dot(g, w),
                     gp = dot(g, p);
        const double half = std::sin(t / 2) / (t / 2), a = std::sin(t) / t, b = half * half / 2;
        const Vector pg = cross(p, g);
        const double along =
            slope_of_sine(t) * dot(w, pg) + slope_of_cosine(t) * (gw * wp - gp * q);
        Values slopes(3);
        for (std::size_t i = 0; i < 3; ++i) {
            slopes[i] = a * pg[i] + b * (g[i] * wp + p[i] * gw - 2 * w[i] * gp) + along * w[i];
        }
        return slopes;
    };
    one.x = draw.values(3, -1, 1);
    const double size = draw.log_between(1e-7, 0.1);
    const double now = std::sqrt(dot(vector(one.x), vector(one.x)));
    for (double& value : one.x) value *= size / now;
    one.noise = kRounded;
    one.room = size / 2;
    one.note = fmt::format("angle {:.1e}", size);
    return one;
}

// ---- steps, rows, borders -----------------------------------------------------------------------

// y' = -k y by Heun's method, its steps chosen by an error estimate: y(1)^2 for x = (y(0), k)
PlainCase chosen_steps(Draw& draw) {
    const double tolerance = draw.pick({1e-13, 1e-12, 1e-11, 1e-10});
    PlainCase one = scalar_case(
        [tolerance](const Values& x) {
            double y = x[0], t = 0, h = 0.01;
            for (int i = 0; i < 2'000'000 && t < 1; ++i) {
                h = std::min(h, 1 - t);
                const double first = -x[1] * y, second = -x[1] * (y + h * first);
                const double error = std::abs(h * (second - first) / 2);
                if (error <= tolerance) {
                    y += h * (first + second) / 2;
                    t += h;
                }
                h *= std::clamp(0.9 * std::sqrt(tolerance / std::max(error, 1e-300)), 0.2, 5.0);
            }
            return y * y;
        },
        [](const Values& x) {
            const double decay = std::exp(-2 * x[1]);
            return Values{2 * x[0] * decay, -2 * x[0] * x[0] * decay};
        },
        draw.values(2, 0.2, 1));
    one.noise = 1e-6;
    one.hidden = true;  // the error of its steps has its own slope
    one.note = fmt::format("tolerance {:.0e}", tolerance);
    return one;
}

// (x - mean) / deviation of numbers that are nearly equal
PlainCase nearly_equal(Draw& draw) {
    const double spread = draw.log_between(1e-7, 1), far = draw.pick({0.0, 1.0, 100.0});
    PlainCase one;
    const auto moments = [](const Values& x) {
        const auto n = static_cast<double>(x.size());
        const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
        double variance = 0;
        for (const double a : x) variance += (a - mean) * (a - mean) / n;
        return std::pair(mean, std::sqrt(variance));
    };
    one.f = [moments](Values x) {
        const auto [mean, deviation] = moments(x);
        for (double& a : x) a = (a - mean) / deviation;
        return x;
    };
    one.pullback = [moments, f = one.f](const Values& x, Values g) {
        const auto n = static_cast<double>(x.size());
        const Values y = f(x);
        const double mean = std::accumulate(g.begin(), g.end(), 0.0) / n;
        const double along = std::inner_product(g.begin(), g.end(), y.begin(), 0.0) / n;
        const double deviation = moments(x).second;
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = (g[i] - mean - y[i] * along) / deviation;
        return g;
    };
    one.x = draw.values(draw.count(3, 12), -spread, spread);
    for (double& a : one.x) a += far;
    one.noise = kRounded * std::max(far / spread, 1.0);
    one.room = spread / 4;
    one.note = fmt::format("spread {:.0e} around {}", spread, far);
    return one;
}

// sum of x_i^1.5 from the end of its domain
PlainCase at_its_end(Draw& draw) {
    Values x = draw.values(draw.count(1, 8), 0.1, 2);
    x[draw.below(x.size())] = 0;
    PlainCase one = scalar_case(
        [](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += a * std::sqrt(a);
            return sum;
        },
        [](Values at) {
            for (double& a : at) a = 1.5 * std::sqrt(a);
            return at;
        },
        std::move(x));
    one.bounds = {{0, 100}};
    one.hidden = true;  // its slope grows like a root
    return one;
}

// The sum of squares up to 1e300; the others, infinity among them, do not count.
PlainCase ignored_infinity(Draw& draw) {
    Values x = draw.values(draw.count(2, 20));
    x[draw.below(x.size() - 1)] = draw.sign() * HUGE_VAL;
    PlainCase one = scalar_case(
        [](const Values& at) {
            double sum = 0;
            for (const double a : at) sum += std::isfinite(a) ? a * a : 0;
            return sum;
        },
        [](Values at) {
            for (double& a : at) a = std::isfinite(a) ? 2 * a : 0;
            return at;
        },
        std::move(x));
    one.hidden = true;  // no step can be taken from there
    return one;
}

}  // namespace

const std::vector<Template>& distance_templates() {
    static const std::vector<Template> all{
        {"large argument", large_argument},
        {"one-pass variance", one_pass_variance},
        {"area", area},
        {"rotation", rotation},
        {"chosen steps", chosen_steps},
        {"nearly equal", nearly_equal},
        {"at its end", at_its_end},
        {"ignored infinity", ignored_infinity},
    };
    return all;
}

}  // namespace tapestry::test
