#include <tapestry/autograd/check/cause.h>

namespace tapestry {

std::string_view to_string(Mistake mistake) {
    switch (mistake) {
        case Mistake::unknown: return "unknown";
        case Mistake::not_finite: return "not finite";
        case Mistake::zero: return "zero where it should not be";
        case Mistake::dropped: return "a contribution is dropped";
        case Mistake::sign: return "sign flipped";
        case Mistake::factor: return "constant factor";
        case Mistake::permuted: return "transposed or permuted";
        case Mistake::missing_sum: return "missing sum over a broadcast axis";
        case Mistake::doubled_sum: return "sum over a broadcast axis taken twice";
        case Mistake::shifted: return "off by one element";
        case Mistake::stale: return "stale: belongs to something else";
        case Mistake::chain: return "missing or doubled chain factor";
        case Mistake::detached: return "detached from the tape";
        case Mistake::missing_term: return "a term is missing: a sum or mean along an axis";
        case Mistake::partial: return "some elements only";
    }
    return {};
}

}  // namespace tapestry
