// Random numbers that define a case, the same everywhere for the same seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tapestry::test {

class Draw {
public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}

    double between(double low, double high) {
        return low + (high - low) * std::ldexp(static_cast<double>(engine_() >> 11), -53);
    }
    /// Log-uniform: as many between 1e-6 and 1e-5 as between 1 and 10.
    double log_between(double low, double high) {
        return std::exp(between(std::log(low), std::log(high)));
    }
    /// low ... high; small ones more often than large ones.
    std::size_t count(std::size_t low, std::size_t high) {
        const double n = log_between(static_cast<double>(low), static_cast<double>(high) + 1);
        return static_cast<std::size_t>(n);
    }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
    bool chance(double p) { return between(0, 1) < p; }
    double sign() { return chance(0.5) ? 1 : -1; }

    template <class T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(from.size())];
    }
    std::vector<double> values(std::size_t n, double low = -2, double high = 2) {
        std::vector<double> drawn(n);
        for (double& value : drawn) value = between(low, high);
        return drawn;
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace tapestry::test
