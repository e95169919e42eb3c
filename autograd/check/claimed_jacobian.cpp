#include <tapestry/autograd/check/claimed_jacobian.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace tapestry::checker {
namespace {

// Calls of a rule after a FAIL.
constexpr std::size_t kOutputs = 256;

// The part of an error that an explanation may leave.
constexpr double kUnexplained = 0.1;

}  // namespace

bool ClaimedJacobian::is_known(const Symptoms& symptoms) {
    constexpr double kBlur = 0.03;  // beyond it, anything fits
    const std::size_t m = symptoms.cotangent.size();
    return symptoms.rule && symptoms.blur <= kBlur && m > 1 && m <= kOutputs &&
           !symptoms.slope_doubts.empty();
}

ClaimedJacobian::ClaimedJacobian(const Symptoms& symptoms, double same)
    : symptoms_(symptoms),
      same_(same),
      largest_of_place_(symptoms.places.size(), 0.0),
      largest_of_output_(symptoms.cotangent.size(), 0.0) {
    constexpr double kSeconds = 1;  // a check may have a limit, which a cause is not worth
    const auto begun = std::chrono::steady_clock::now();
    Values cotangent(symptoms.cotangent.size(), 0.0);
    for (std::size_t i = 0; i < cotangent.size(); ++i) {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
        if (taken.count() > kSeconds) {
            claims_.clear();
            return;
        }
        cotangent[i] = 1;
        claims_.push_back(at_places(symptoms.rule(cotangent), symptoms.places));
        cotangent[i] = 0;
    }
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < outputs(); ++i) {
            const double size = std::abs(right(p, i));
            largest_of_place_[p] = std::max(largest_of_place_[p], size);
            largest_of_output_[i] = std::max(largest_of_output_[i], size);
        }
    }
}

double ClaimedJacobian::doubt(std::size_t p, std::size_t i) const {
    constexpr double kTimes = 8;
    const double finest = std::max(1e-11, symptoms_.blur);
    const double size = std::min(largest_of_place_[p], largest_of_output_[i]);
    return std::max(kTimes * symptoms_.slope_doubts[p][i], finest * size);
}

double ClaimedJacobian::allowed(std::size_t p, std::size_t i, double value) const {
    return std::max(doubt(p, i), same_ * std::abs(value));
}

bool ClaimedJacobian::is_claimed(std::size_t p, std::size_t i, double value) const {
    return std::abs(claimed(p, i) - value) <= allowed(p, i, value);
}

bool ClaimedJacobian::is_right_zero(std::size_t p, std::size_t i) const {
    return std::abs(right(p, i)) <= doubt(p, i);
}

std::optional<std::size_t> ClaimedJacobian::diagonal_of_its_own() const {
    if (places() != outputs() || places() != symptoms_.claimed.size() || places() < 2) return {};
    std::size_t worst = 0;
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < outputs(); ++i) {
            if (p != i && !(is_right_zero(p, i) && is_claimed(p, i, 0))) return {};
        }
        if (std::abs(error(p, p)) > std::abs(error(worst, worst))) worst = p;
    }
    return worst;
}

Values ClaimedJacobian::factors_on_diagonal() const {
    Values factors;
    for (std::size_t p = 0; p < places(); ++p) {
        factors.push_back(is_right_zero(p, p) ? std::numeric_limits<double>::quiet_NaN()
                                              : claimed(p, p) / right(p, p));
    }
    return factors;
}

// Whether each of the lines is a multiple of the right one. Most lines need two numbers that
// confirm the factor; lines that are 0 in f say nothing, and must be few.
template <class Right, class Claimed, class IsZero, class Same>
std::optional<Values> ClaimedJacobian::multiples(std::size_t lines, std::size_t length, Right right,
                                                 Claimed claimed, IsZero is_zero, Same same) {
    constexpr std::size_t kLeast = 6;
    std::size_t confirmed = 0, silent = 0, numbers = 0;
    double rest = 0, off = 0;
    Values factors(lines, 1.0);
    for (std::size_t line = 0; line < lines; ++line) {
        double both = 0, squares = 0, most = 0;
        for (std::size_t k = 0; k < length; ++k) {
            if (is_zero(line, k)) continue;
            both += claimed(line, k) * right(line, k);
            squares += right(line, k) * right(line, k);
            most = std::max(most, std::abs(right(line, k)));
        }
        if (!(squares > 0)) {
            ++silent;
            factors[line] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        factors[line] = both / squares;
        std::size_t telling = 0;
        for (std::size_t k = 0; k < length; ++k) {
            const double model = is_zero(line, k) ? 0 : both / squares * right(line, k);
            if (!same(line, k, model, both / squares)) return {};
            // Relative to the line: a large output rounds by more than all of a small one.
            rest += std::pow(claimed(line, k) - model, 2) / squares;
            off += std::pow(claimed(line, k) - right(line, k), 2) / squares;
            telling += std::abs(right(line, k)) > 1e-3 * most && !is_zero(line, k) ? 1 : 0;
        }
        confirmed += telling >= 2 ? 1 : 0;
        numbers += telling;
    }
    if (!(rest <= kUnexplained * kUnexplained * off)) return {};
    const bool enough =
        confirmed >= 2 && numbers >= kLeast && 2 * confirmed >= lines && 4 * silent <= lines;
    return enough ? std::optional(factors) : std::nullopt;
}

std::optional<Values> ClaimedJacobian::factors_of_outputs() const {
    return multiples(
        outputs(), places(), [this](std::size_t i, std::size_t p) { return right(p, i); },
        [this](std::size_t i, std::size_t p) { return claimed(p, i); },
        [this](std::size_t i, std::size_t p) { return is_right_zero(p, i); },
        [this](std::size_t i, std::size_t p, double model, double factor) {
            return std::abs(claimed(p, i) - model) <=
                   std::max(1.0, std::abs(factor)) * allowed(p, i, right(p, i));
        });
}

std::optional<Values> ClaimedJacobian::factors_of_places() const {
    return multiples(
        places(), outputs(), [this](std::size_t p, std::size_t i) { return right(p, i); },
        [this](std::size_t p, std::size_t i) { return claimed(p, i); },
        [this](std::size_t p, std::size_t i) { return is_right_zero(p, i); },
        [this](std::size_t p, std::size_t i, double model, double factor) {
            return std::abs(claimed(p, i) - model) <=
                   std::max(1.0, std::abs(factor)) * allowed(p, i, right(p, i));
        });
}

// The factors' logarithms spread along the entries that are not 0: each new one gives the factor of
// a place or an output, or confirms them.
bool ClaimedJacobian::is_scaled_by_both() const {
    Values of_place(places(), 0.0), of_output(outputs(), 0.0);  // 0: not known yet
    std::size_t confirmed = 0, known = 0;
    const auto ratio = [this](std::size_t p, std::size_t i) { return claimed(p, i) / right(p, i); };
    for (std::size_t start = 0; start < places(); ++start) {
        if (of_place[start] != 0) continue;
        of_place[start] = 1;
        for (bool grown = true; grown;) {
            grown = false;
            for (std::size_t p = 0; p < places(); ++p) {
                for (std::size_t i = 0; i < outputs(); ++i) {
                    if (is_right_zero(p, i) || (of_place[p] != 0) == (of_output[i] != 0)) continue;
                    if (!(std::abs(claimed(p, i)) > doubt(p, i))) return false;
                    if (of_place[p] != 0) {
                        of_output[i] = ratio(p, i) / of_place[p];
                    } else {
                        of_place[p] = ratio(p, i) / of_output[i];
                    }
                    grown = true;
                    ++known;
                }
            }
        }
    }
    double rest = 0, off = 0;
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < outputs(); ++i) {
            const double factor = is_right_zero(p, i) ? 0 : of_place[p] * of_output[i];
            const double model = factor * right(p, i);
            rest += std::pow(claimed(p, i) - model, 2);
            off += std::pow(error(p, i), 2);
            const double times = std::max(4.0, 4 * std::abs(factor));
            if (!(std::abs(claimed(p, i) - model) <= times * allowed(p, i, right(p, i))))
                return false;
            confirmed += is_right_zero(p, i) ? 0 : 1;
        }
    }
    if (!(rest <= kUnexplained * kUnexplained * off)) return false;
    return confirmed >= known + std::max<std::size_t>(6, known / 2);
}

bool ClaimedJacobian::goes_one_way() const {
    if (places() != outputs() || places() != symptoms_.claimed.size()) return false;
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < p; ++i) {
            if (!is_right_zero(p, i) && !is_right_zero(i, p)) return false;
        }
    }
    return true;
}

bool ClaimedJacobian::has_a_transposed_support() const {
    if (places() != outputs() || places() != symptoms_.claimed.size()) return false;
    std::size_t one_way = 0;
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < outputs(); ++i) {
            const bool reached = !is_claimed(p, i, 0);
            if (reached == is_right_zero(i, p)) return false;
            one_way += reached && is_right_zero(p, i) ? 1 : 0;
        }
    }
    return one_way >= 3;
}

bool ClaimedJacobian::is_off_on_the_diagonal() const {
    if (places() != outputs() || places() != symptoms_.claimed.size() || places() < 3) return false;
    std::size_t off = 0;
    for (std::size_t p = 0; p < places(); ++p) {
        for (std::size_t i = 0; i < outputs(); ++i) {
            if (is_claimed(p, i, right(p, i))) continue;
            if (p != i) return false;
            ++off;
        }
    }
    return off >= 3;
}

}  // namespace tapestry::checker
