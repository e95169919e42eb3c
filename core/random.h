// Random numbers computed from a counter (Philox) instead of from a state.
//
// An ordinary generator steps from one number to the next, so numbers depend on the order of the
// requests. Philox scrambles a counter: number i is philox(seed, offset + i), in any order and on
// any thread. So threads fill a tensor together, and the bits are the same for any number of them.
// The only state of a generator is (seed, offset).
//
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// Read next: nn/train/training_config.h, the streams of a training run.
#pragma once

#include <tapestry/core/tensor.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace tapestry {

/// Philox4x32-10: 128 random bits, as four words, for a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key);

/// The position in a stream of random numbers. A tensor of n elements takes the counters [offset,
/// offset + needed) at once; equal (seed, offset) always give equal numbers. A copy continues
/// independently. Not safe for use by two threads at a time.
class Generator {
public:
    /// A stream with this seed, at offset 0.
    explicit Generator(std::uint64_t seed) : seed_(seed) {}
    ~Generator();
    Generator(const Generator&) = default;
    Generator& operator=(const Generator&) = default;

    std::uint64_t seed() const { return seed_; }      ///< the seed of the stream
    std::uint64_t offset() const { return offset_; }  ///< counters taken so far
    /// Continues at this place of the stream with this seed.
    void set_state(std::uint64_t seed, std::uint64_t offset);

    /// Takes `count` counters; returns the first of them.
    std::uint64_t take(std::uint64_t count);

    /// 64 random bits. Each of these scalar draws takes one counter.
    std::uint64_t next();
    /// Uniform in [0, 1), a multiple of 2^-53.
    double uniform();
    /// Uniform in [0, bound), every value equally likely. Throws ValueError if bound is 0.
    std::uint64_t below(std::uint64_t bound);

private:
    std::uint64_t seed_;
    std::uint64_t offset_ = 0;
};

/// The generator used by default. Seed 0 until manual_seed.
Generator& default_generator();
/// Sets the default generator to (seed, 0).
void manual_seed(std::uint64_t seed);

// All of these return constants. `dtype` must be floating (DTypeError).

/// Uniform in [0, 1): multiples of 2^-24 (f32: element i is word i % 4 of counter offset + i / 4)
/// or of 2^-53 (f64: two words each). 1 itself never occurs.
Tensor rand(const Shape& shape, Generator& generator = default_generator(),
            DType dtype = DType::f32);

/// Uniform in [low, high). Throws ValueError unless, in `dtype`, low < high and both bounds and
/// their difference are finite.
Tensor uniform(const Shape& shape, double low, double high,
               Generator& generator = default_generator(), DType dtype = DType::f32);

/// Normal with mean 0 and variance 1, always finite. Box and Muller (1958), in double precision:
/// two uniform u, v give the pair sqrt(-2 ln u) (cos 2 pi v, sin 2 pi v).
Tensor randn(const Shape& shape, Generator& generator = default_generator(),
             DType dtype = DType::f32);

/// rand and randn with the shape and dtype of x, which must be floating (DTypeError).
Tensor rand_like(const Tensor& x, Generator& generator = default_generator());
Tensor randn_like(const Tensor& x, Generator& generator = default_generator());

/// mean + std * randn. Throws ValueError unless both are finite and std >= 0.
Tensor normal(const Shape& shape, double mean, double std,
              Generator& generator = default_generator(), DType dtype = DType::f32);

/// bool: true with probability p (rounded to a multiple of 2^-32). Throws ValueError unless
/// 0 <= p <= 1.
Tensor bernoulli(const Shape& shape, double p, Generator& generator = default_generator());

/// i64: each value of [low, high) equally likely. Throws ValueError unless low < high.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape,
               Generator& generator = default_generator());

/// i64 [n]: a random permutation of 0 .. n - 1, every order equally likely. Throws ValueError if n
/// < 0.
Tensor randperm(std::int64_t n, Generator& generator = default_generator());

/// A named stream, at its beginning: one for each name, step and index (of a process, or a batch).
/// Draws from one stream do not depend on draws from another, nor on their order. Its key is a hash
/// of all four: Philox with the seed as key scrambles the name, and with the result as key the step
/// and index.
Generator stream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0,
                 std::uint64_t index = 0);

}  // namespace tapestry
