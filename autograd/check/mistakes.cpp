#include <tapestry/autograd/check/mistakes.h>

#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>

namespace tapestry::checker {

Values gradient_for(const Symptoms& symptoms, const Values& cotangent) {
    Values gradient;
    for (const Values& slope : symptoms.slopes) gradient.push_back(dot(slope, cotangent));
    return gradient;
}

std::string closeness(const Wrong& w, const Values& model) {
    return fmt::format("to {:.1g} of its norm", std::max(distance(w.claimed, model), 1e-16));
}

std::vector<double> numeric_gradient(const Symptoms& symptoms) {
    return gradient_for(symptoms, symptoms.cotangent);
}

Cause find_cause(const Symptoms& symptoms) {
    Wrong w{symptoms, at_places(symptoms.claimed, symptoms.places), numeric_gradient(symptoms)};
    w.off = distance(w.claimed, w.right);
    // From what leaves no doubt to what needs a fit.
    for (const auto pattern :
         {looks_not_finite, looks_zero, looks_negated, looks_unsummed, looks_like_another_operand,
          looks_stale, looks_scaled_by_a_count, looks_like_a_chain_factor, looks_scaled,
          looks_conjugate, looks_permuted, looks_shifted, looks_flipped, looks_like_some_samples,
          looks_off_in_rows, lacks_the_direct_way, lacks_a_constant_term, lacks_an_output_term,
          looks_partly_right}) {
        if (auto cause = pattern(w)) return *cause;
    }
    const double size = norm(w.claimed) * norm(w.right);
    return {
        Mistake::unknown,
        fmt::format("correlation of claimed and numeric gradient {:.3f}, norms {:.4g} and "
                    "{:.4g}",
                    size > 0 ? dot(w.claimed, w.right) / size : 0, norm(w.claimed), norm(w.right)),
        "no common mistake looks like this; derive the rule again for one element"};
}

}  // namespace tapestry::checker
