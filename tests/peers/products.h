// Shared by the programs that time another library's matrix products: the `products` of peers.py,
// with the same options. Each of them implements the library's call; tests/peers/run builds it if
// the library is installed.
//
//     products_NAME SECONDS FORM:MxNxK...
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace peers {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Product {
    char a, b;  // 'N' or 'T'
    long m, n, k;
};

inline std::vector<float> normal_numbers(long count) {
    std::mt19937 bits(1);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = normal(bits);
    return numbers;
}

// Times of calls for `budget` seconds, at least five, after a warm-up; sorted.
inline std::vector<double> timed(double budget, const std::function<void()>& call) {
    std::vector<double> seconds;
    call();
    const auto start = Clock::now();
    while (seconds.size() < 5 || seconds_since(start) < budget) {
        const auto begin = Clock::now();
        call();
        seconds.push_back(seconds_since(begin));
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

/// c [m, n] = a b, dense, row-major; c is not read. False if the library refuses.
using Multiply = std::function<bool(const Product& p, const float* a, const float* b, float* c)>;

inline std::vector<double> measured(const Multiply& multiply, const Product& p, double budget) {
    const std::vector<float> a = normal_numbers(p.m * p.k), b = normal_numbers(p.k * p.n);
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    return timed(budget, [&] {
        if (multiply(p, a.data(), b.data(), c.data())) return;
        std::fprintf(stderr, "products: the library refuses %ld x %ld x %ld\n", p.m, p.n, p.k);
        std::exit(1);
    });
}

/// Elements from one row to the next in memory.
inline long row_of_a(const Product& p) { return p.a == 'N' ? p.k : p.m; }
inline long row_of_b(const Product& p) { return p.b == 'N' ? p.n : p.k; }

inline int run(int count, char** arguments, const Multiply& multiply) {
    for (int i = 2; i < count; ++i) {
        Product p{};
        if (std::sscanf(arguments[i], "%c%c:%ldx%ldx%ld", &p.a, &p.b, &p.m, &p.n, &p.k) != 5) {
            std::fprintf(stderr, "products: %s is not FORM:MxNxK\n", arguments[i]);
            return 2;
        }
        const std::vector<double> seconds = measured(multiply, p, std::atof(arguments[1]));
        std::printf("%s\"%s\": {\"median\": %.9f, \"fastest\": %.9f}", i == 2 ? "{" : ", ",
                    arguments[i], seconds[seconds.size() / 2], seconds.front());
    }
    std::printf("}\n");
    return 0;
}

}  // namespace peers
