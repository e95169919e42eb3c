#include <tapestry/autograd/check/verdict.h>

#include <tapestry/core/half.h>

namespace tapestry {

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::pass: return "PASS";
        case Verdict::inconclusive: return "INCONCLUSIVE";
        case Verdict::fail: return "FAIL";
    }
    return {};
}

std::string_view to_string(Reason reason) {
    switch (reason) {
        case Reason::none: return "none";
        case Reason::roundoff: return "roundoff";
        case Reason::truncation: return "truncation";
        case Reason::kink: return "kink";
        case Reason::not_finite: return "not finite";
        case Reason::limit: return "limit reached";
        case Reason::bounds: return "no room between bounds";
        case Reason::undeclared_error: return "undeclared error";
        case Reason::not_deterministic: return "not deterministic";
    }
    return {};
}

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
        case Mistake::overwrites: return "writes into memory that it does not own";
        case Mistake::extra_term: return "a term too many: a sum or mean along an axis";
        case Mistake::held: return "off along x or y: an inner norm held constant, or decay";
        case Mistake::convention: return "breaks a calling convention";
        case Mistake::mixed: return "rows are mixed: a sum along a wrong axis, or over too much";
        case Mistake::formula: return "wrong formula of a factor or single derivative";
        case Mistake::wrong_sum: return "wrong term of a row's sum, maximum, mean or norm";
        case Mistake::symmetry: return "not symmetric: gradient and transpose not averaged";
        case Mistake::unmasked: return "a contribution too many: a mask or branch is ignored";
        case Mistake::misplaced: return "right numbers at other elements: a wrong index";
    }
    return {};
}

std::string_view to_string(Format format) {
    switch (format) {
        case Format::f64: return "f64";
        case Format::f32: return "f32";
        case Format::bf16: return "bf16";
        case Format::f16: return "f16";
    }
    return {};
}

double rounded(Format format, double x) {
    switch (format) {
        case Format::f64: break;
        case Format::f32: return static_cast<float>(x);
        case Format::bf16: return rounded_to_bf16(x);
        case Format::f16: return rounded_to_f16(x);
    }
    return x;
}

double epsilon(Format format) {
    switch (format) {
        case Format::f64: return 0x1p-52;
        case Format::f32: return 0x1p-23;
        case Format::bf16: return 0x1p-7;
        case Format::f16: return 0x1p-10;
    }
    return 0;
}

double smallest(Format format) {
    switch (format) {
        case Format::f64: return std::numeric_limits<double>::denorm_min();
        case Format::f32: return 0x1p-149;
        case Format::bf16: return 0x1p-133;
        case Format::f16: return 0x1p-24;
    }
    return 0;
}

}  // namespace tapestry
