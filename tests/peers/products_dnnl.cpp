// Products of libdnnl (oneDNN; Debian's libdnnl-dev), in f32, by its BLAS-like entry: what
// peers.py's `products` measures of PyTorch, in its words. tests/peers/run builds it where the
// library is.
//
//     products_dnnl SECONDS FORM:MxNxK...
#include <dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Product {
    char a, b;  // 'N' or 'T'
    long m, n, k;
};

std::vector<float> normal_numbers(long count) {
    std::mt19937 bits(1);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& x : numbers) x = normal(bits);
    return numbers;
}

// Of calls for `budget` seconds, five at least, after one; sorted.
std::vector<double> timed(double budget, const std::function<void()>& call) {
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

std::vector<double> measured(const Product& p, double budget) {
    const std::vector<float> a = normal_numbers(p.m * p.k), b = normal_numbers(p.k * p.n);
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    const long lda = p.a == 'N' ? p.k : p.m, ldb = p.b == 'N' ? p.n : p.k;
    return timed(budget, [&] {
        const dnnl_status_t status = dnnl_sgemm(p.a, p.b, p.m, p.n, p.k, 1.0F, a.data(), lda,
                                                b.data(), ldb, 0.0F, c.data(), p.n);
        if (status != dnnl_success) {
            std::fprintf(stderr, "products_dnnl: dnnl_sgemm returned %d\n", status);
            std::exit(1);
        }
    });
}

}  // namespace

int main(int count, char** arguments) {
    for (int i = 2; i < count; ++i) {
        Product p{};
        if (std::sscanf(arguments[i], "%c%c:%ldx%ldx%ld", &p.a, &p.b, &p.m, &p.n, &p.k) != 5) {
            std::fprintf(stderr, "products_dnnl: %s is not FORM:MxNxK\n", arguments[i]);
            return 2;
        }
        const std::vector<double> seconds = measured(p, std::atof(arguments[1]));
        std::printf("%s\"%s\": {\"median\": %.9f, \"fastest\": %.9f}", i == 2 ? "{" : ", ",
                    arguments[i], seconds[seconds.size() / 2], seconds.front());
    }
    std::printf("}\n");
}
