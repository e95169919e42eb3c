// The memory that callbacks of the C ABI are called with: results between guards, and the means to
// see what a callback has changed. Internal to autograd/capi.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace tapestry::capi {

inline constexpr double kVisible =
    1e-3;  ///< of the largest result: sums in another order are closer

/// Numbers between guards.
class Buffer {
public:
    explicit Buffer(const std::vector<double>& numbers);
    Buffer(std::size_t n, double filling) : Buffer(std::vector<double>(n, filling)) {}

    double* data();
    std::vector<double> now() const;
    bool has_its_guards() const;
    /// The first number that a callback has changed.
    std::optional<std::size_t> changed() const;
    /// Makes everything NaN.
    void spoil();

private:
    std::vector<double> numbers_, memory_;
};

bool same_bits(double a, double b);

/// The first element of `now`, from a buffer full of ones, that is still 1 and was 0 in a buffer
/// full of zeros: it is not written.
std::optional<std::size_t> unwritten(const std::vector<double>& with_zeros,
                                     const std::vector<double>& with_ones);

/// The largest difference, as a part of the largest number; 1 if only one of two numbers is finite,
/// or if they are other ones that are not.
double apart(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tapestry::capi
