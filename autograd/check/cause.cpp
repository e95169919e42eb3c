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
        case Mistake::permuted: return "transposed, permuted or column-major";
        case Mistake::missing_sum: return "missing sum over a broadcast axis";
        case Mistake::doubled_sum: return "sum over a broadcast axis taken twice";
        case Mistake::flipped: return "flipped: reversed along an axis";
        case Mistake::shifted: return "shifted: off by one element or more";
        case Mistake::samples: return "some samples only: the last, the first, or all but that";
        case Mistake::rows: return "wrong by a factor on some rows";
        case Mistake::conjugate: return "conjugate: a wrong sign in every pair";
        case Mistake::stale: return "stale: belongs to something else";
        case Mistake::chain: return "missing or doubled chain factor";
        case Mistake::detached: return "detached from the tape";
        case Mistake::missing_term: return "a term is missing: a sum or mean along an axis";
        case Mistake::partial: return "some elements only";
        case Mistake::overwrites: return "overwrites its incoming gradient";
    }
    return {};
}

}  // namespace tapestry
