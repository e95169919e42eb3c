// Philox and the distributions derived from its words. Every distribution is a function of (seed,
// first counter, element number), split into tiles: start at fill_from_words.
#include <tapestry/core/random.h>

#include <tapestry/core/loop.h>
#include <tapestry/core/philox.h>
#include <tapestry/core/portable_math.h>
#include <tapestry/core/skip_drawing.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace tapestry {
namespace {

using Key = std::array<std::uint32_t, 2>;

constexpr std::uint32_t low_half(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high_half(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

Key key_of(std::uint64_t seed) { return {low_half(seed), high_half(seed)}; }

// Two 64-bit halves of the block at `counter`. `attempt` fills the upper half of the counter: a
// draw that must be repeated continues there and takes nothing from its neighbours.
std::array<std::uint64_t, 2> block_at(std::uint64_t seed, std::uint64_t counter,
                                      std::uint64_t attempt = 0) {
    const auto w =
        philox({low_half(counter), high_half(counter), low_half(attempt), high_half(attempt)},
               key_of(seed));
    return {w[0] | std::uint64_t{w[1]} << 32, w[2] | std::uint64_t{w[3]} << 32};
}

// ---- from words to numbers ----------------------------------------------------------------------

constexpr int kTileBlocks = 16;
constexpr std::int64_t kTileWords = 4 * kTileBlocks;
using Tile = std::array<std::uint32_t, kTileWords>;

// The words of the counters [first, first + 16), block by block.
void tile(std::uint64_t seed, std::uint64_t first, Tile& words) {
    PhiloxBlocks<kTileBlocks> x = philox_counters<kTileBlocks>(first);
    scramble(x, seed);
    for (std::size_t i = 0; i < kTileBlocks; ++i) {
        for (std::size_t k = 0; k < 4; ++k) words[4 * i + k] = x.word[k][i];
    }
}

// Fills `result` using convert(words, to), which makes the kTileWords / words_per_element numbers
// of one tile from its 64 words.
template <class T, class Convert>
void fill_from_words(Tensor& result, std::int64_t words_per_element, Generator& generator,
                     const Convert& convert) {
    const std::int64_t n = result.numel();
    const std::int64_t per_block = 4 / words_per_element;
    const std::int64_t per_tile = kTileWords / words_per_element;
    const std::uint64_t seed = generator.seed();
    const std::uint64_t first =
        generator.take(static_cast<std::uint64_t>(n / per_block + (n % per_block != 0 ? 1 : 0)));
    if (SkipDrawing::active()) return;
    T* to = result.mutable_data<T>();
    static_assert(kGrain % kTileWords == 0, "a piece begins with a tile");
    parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
        Tile words;
        std::array<T, kTileWords> last;
        for (; begin < end; begin += per_tile) {
            tile(seed, first + static_cast<std::uint64_t>(begin / per_block), words);
            if (end - begin >= per_tile) {
                convert(words, to + begin);
            } else {
                convert(words, last.data());
                std::copy_n(last.data(), end - begin, to + begin);
            }
        }
    });
}

std::uint64_t join(const Tile& words, std::size_t element) {
    return words[2 * element] | std::uint64_t{words[2 * element + 1]} << 32;
}

// Uniform in [0, 1) from the top 24 bits, the precision of a float; by way of a signed integer,
// which SSE2 converts.
void to_unit(const Tile& words, float* to) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        to[i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8)) * 0x1p-24F;
    }
}

void to_unit(const Tile& words, double* to) {
    for (std::size_t i = 0; i < words.size() / 2; ++i) {
        to[i] = static_cast<double>(static_cast<std::int64_t>(join(words, i) >> 11)) * 0x1p-53;
    }
}

// Box and Muller, from u in (0, 1) and v in [0, 1): the logarithm stays finite.
template <class T>
void to_pair(double u, double v, double mean, double std, T* to) {
    const double radius = std * std::sqrt(-2 * portable::log(u));
    const auto [sin, cos] = portable::sin_cos(2 * std::numbers::pi * v);
    to[0] = static_cast<T>(mean + radius * cos);
    to[1] = static_cast<T>(mean + radius * sin);
}

void to_normal(const Tile& words, double mean, double std, float* to) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
        to_pair((words[i] + 0.5) * 0x1p-32, words[i + 1] * 0x1p-32, mean, std, to + i);
    }
}

void to_normal(const Tile& words, double mean, double std, double* to) {
    for (std::size_t i = 0; i < words.size() / 2; i += 2) {
        const auto u = static_cast<double>(join(words, i) >> 12);  // 52 bits: adding 0.5 is exact
        const auto v = static_cast<double>(join(words, i + 1) >> 11);
        to_pair((u + 0.5) * 0x1p-52, v * 0x1p-53, mean, std, to + i);
    }
}

// ---- integers without bias ----------------------------------------------------------------------

__extension__ using Wide = unsigned __int128;

// Uniform in [0, bound) from half `half` of the block at `counter`. Source: Lemire, "Fast random
// integer generation in an interval" (2019): the upper word of x * bound, redrawn in the few cases
// that would make some values more likely than others.
std::uint64_t bounded(std::uint64_t seed, std::uint64_t counter, std::size_t half,
                      std::uint64_t bound) {
    const std::uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
    for (std::uint64_t attempt = 0;; ++attempt) {
        const Wide product = Wide{block_at(seed, counter, attempt)[half]} * bound;
        if (static_cast<std::uint64_t>(product) >= excess) {
            return static_cast<std::uint64_t>(product >> 64);
        }
    }
}

std::uint64_t take_halves(Generator& generator, std::int64_t n) {
    return generator.take(static_cast<std::uint64_t>(n / 2 + n % 2));
}

std::uint64_t bounded_element(std::uint64_t seed, std::uint64_t first, std::int64_t i,
                              std::uint64_t bound) {
    return bounded(seed, first + static_cast<std::uint64_t>(i / 2), static_cast<std::size_t>(i % 2),
                   bound);
}

}  // namespace

// ---- the generator ------------------------------------------------------------------------------

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key) {
    PhiloxBlocks<1> x{{{counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}}};
    scramble(x, key[0] | std::uint64_t{key[1]} << 32);
    return {x.word[0][0], x.word[1][0], x.word[2][0], x.word[3][0]};
}

std::uint64_t Generator::next() { return block_at(seed_, take(1))[0]; }

double Generator::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Generator::below(std::uint64_t bound) {
    require(bound > 0, "below: the bound must be positive, got 0");
    return bounded(seed_, take(1), 0, bound);
}

Generator& default_generator() {
    static Generator generator{0};
    return generator;
}

void manual_seed(std::uint64_t seed) { default_generator().set_state(seed, 0); }

// ---- tensors ------------------------------------------------------------------------------------

Tensor rand(const Shape& shape, Generator& generator, DType dtype) {
    return visit_floating("rand", dtype, [&](auto zero) {
        using T = decltype(zero);
        Tensor result(shape, dtype);
        fill_from_words<T>(result, sizeof(T) / 4, generator,
                           [](const Tile& words, T* to) { to_unit(words, to); });
        return result;
    });
}

Tensor uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype) {
    return visit_floating("uniform", dtype, [&](auto zero) {
        using T = decltype(zero);
        const T from = static_cast<T>(low);
        const T span = static_cast<T>(high) - from;
        require(span > 0 && std::isfinite(span), "uniform: [{}, {}) is empty or infinite in {}",
                low, high, dtype);
        const T limit = std::nextafter(static_cast<T>(high), from);  // rounding may reach high
        Tensor result(shape, dtype);
        fill_from_words<T>(result, sizeof(T) / 4, generator, [=](const Tile& words, T* to) {
            to_unit(words, to);
            for (std::size_t i = 0; i < words.size() / (sizeof(T) / 4); ++i) {
                to[i] = std::min(from + to[i] * span, limit);
            }
        });
        return result;
    });
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype) {
    return visit_floating("randn", dtype,
                          [&](auto) { return normal(shape, 0, 1, generator, dtype); });
}

Tensor rand_like(const Tensor& x, Generator& generator) {
    return visit_floating("rand_like", x.dtype(),
                          [&](auto) { return rand(x.shape(), generator, x.dtype()); });
}

Tensor randn_like(const Tensor& x, Generator& generator) {
    return visit_floating("randn_like", x.dtype(),
                          [&](auto) { return randn(x.shape(), generator, x.dtype()); });
}

Tensor normal(const Shape& shape, double mean, double std, Generator& generator, DType dtype) {
    return visit_floating("normal", dtype, [&](auto zero) {
        using T = decltype(zero);
        require(std::isfinite(static_cast<T>(mean)),
                "normal: the mean must be finite, got {} in {}", mean, dtype);
        require(std >= 0 && std::isfinite(static_cast<T>(std)),
                "normal: the standard deviation must be finite and >= 0, got {} in {}", std, dtype);
        Tensor result(shape, dtype);
        fill_from_words<T>(result, sizeof(T) / 4, generator,
                           [=](const Tile& words, T* to) { to_normal(words, mean, std, to); });
        return result;
    });
}

Tensor bernoulli(const Shape& shape, double p, Generator& generator) {
    require(p >= 0 && p <= 1, "bernoulli: p must be in [0, 1], got {}", p);
    const auto limit = static_cast<std::uint64_t>(std::round(p * 0x1p32));  // 2^32: always
    Tensor result(shape, DType::boolean);
    fill_from_words<bool>(result, 1, generator, [limit](const Tile& words, bool* to) {
        for (std::size_t i = 0; i < words.size(); ++i) to[i] = words[i] < limit;
    });
    return result;
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator) {
    require(low < high, "randint: [{}, {}) is empty", low, high);
    // Unsigned: neither the distance nor the way back may fit a signed number.
    const std::uint64_t bound = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    Tensor result(shape, DType::i64);
    const std::uint64_t seed = generator.seed();
    const std::uint64_t first = take_halves(generator, result.numel());
    auto* to = result.mutable_data<std::int64_t>();
    parallel_for(result.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            to[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) +
                                              bounded_element(seed, first, i, bound));
        }
    });
    return result;
}

Tensor randperm(std::int64_t n, Generator& generator) {
    require(n >= 0, "randperm: n must be >= 0, got {}", n);
    Tensor result({n}, DType::i64);
    const std::uint64_t seed = generator.seed();
    const std::uint64_t first = take_halves(generator, n);
    auto* to = result.mutable_data<std::int64_t>();
    // Fisher and Yates, inside out: number i goes to a place j <= i, and the number there moves to
    // place i.
    for (std::int64_t i = 0; i < n; ++i) {
        const auto j = static_cast<std::int64_t>(
            bounded_element(seed, first, i, static_cast<std::uint64_t>(i) + 1));
        to[i] = to[j];
        to[j] = i;
    }
    return result;
}

// ---- named streams ------------------------------------------------------------------------------

namespace {

// 64 bits of (a, b) under `key`.
std::uint64_t scrambled(std::uint64_t a, std::uint64_t b, std::uint64_t key) {
    const auto words = philox({low_half(a), high_half(a), low_half(b), high_half(b)}, key_of(key));
    return words[0] | std::uint64_t{words[1]} << 32;
}

// FNV-1a. Source: Fowler, Noll and Vo, draft-eastlake-fnv.
std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
}

}  // namespace

Generator stream(std::uint64_t seed, std::string_view name, std::uint64_t step,
                 std::uint64_t index) {
    return Generator(scrambled(step, index, scrambled(hash(name), name.size(), seed)));
}

}  // namespace tapestry
