#include <tapestry/tests/mutations/templates/template.h>

#include <utility>

namespace tapestry::test {

using Values = std::vector<double>;

PlainCase scalar_case(ScalarFunction f, PlainGradient gradient, Values x) {
    PlainCase one;
    one.f = [f = std::move(f)](const Values& at) { return Values{f(at)}; };
    one.pullback = [gradient = std::move(gradient)](const Values& at, const Values& g) {
        Values slopes = gradient(at);
        for (double& slope : slopes) slope *= g[0];
        return slopes;
    };
    one.x = std::move(x);
    return one;
}

PlainCase in_units(PlainCase one, double s, double t) {
    const auto back = [s](Values x) {
        for (double& value : x) value /= s;
        return x;
    };
    one.f = [f = one.f, back, t](const Values& x) {
        Values y = f(back(x));
        for (double& value : y) value *= t;
        return y;
    };
    const auto in_other_units = [&](PlainPullback& rule) {
        rule = [rule, back, s, t](const Values& x, const Values& g) {
            Values slopes = rule(back(x), g);
            for (double& slope : slopes) slope *= t / s;
            return slopes;
        };
    };
    in_other_units(one.pullback);
    if (one.held) in_other_units(one.held);
    for (auto& [name, rule] : one.variants) in_other_units(rule);
    for (double& value : one.x) value *= s;
    for (Bounds& bounds : one.bounds) bounds = {bounds.low * s, bounds.high * s};
    one.noise *= t;
    one.room *= s;
    return one;
}

const std::vector<Template>& hard_templates() {
    static const std::vector<Template> all = [] {
        std::vector<Template> joined;
        for (const auto* part :
             {&rounding_templates(), &solver_templates(), &kink_templates(), &scale_templates(),
              &order_templates(), &cancelling_templates(), &size_templates(), &layer_templates(),
              &distance_templates(), &lost_part_templates(), &beside_templates(),
              &steep_templates(), &many_kink_templates()}) {
            joined.insert(joined.end(), part->begin(), part->end());
        }
        return joined;
    }();
    return all;
}

}  // namespace tapestry::test
