#include <tapestry/autograd/check/verdict.h>

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

}  // namespace tapestry
