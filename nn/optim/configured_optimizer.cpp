#include <tapestry/nn/optim/configured_optimizer.h>

namespace tapestry {
namespace {

// "in [0, 1)", "a whole number from 1 to 100".
std::string rule_of(const FieldTraits& traits, bool whole) {
    if (whole) return fmt::format("a whole number from {} to {}", traits.low, traits.high);
    if (traits.high == kNotNegative.high) return fmt::format("finite and >= {}", traits.low);
    const bool open = traits.low == kAboveZero, below_one = traits.high == kBelowOne;
    return fmt::format("in {}{}, {}{}", open ? "(" : "[", open ? 0 : traits.low,
                       below_one ? 1 : traits.high, below_one ? ")" : "]");
}

}  // namespace

void check_setting(const char* kind, const char* name, double value, const FieldTraits& traits,
                   bool whole) {
    const bool inside = value >= traits.low && value <= traits.high;  // NaN is not
    require(inside && (!whole || value == std::floor(value)), "{}: {} must be {}, got {}", kind,
            name, rule_of(traits, whole), value);
}

}  // namespace tapestry
