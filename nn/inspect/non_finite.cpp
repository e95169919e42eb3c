#include <tapestry/nn/inspect/non_finite.h>

#include <tapestry/nn/inspect/inspector.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tapestry {
namespace {

bool is_finite(const ValueStatistics& s) { return s.nans + s.infinities == 0; }

// Except for -inf.
bool is_finite_above(const ValueStatistics& s) {
    return s.nans == 0 && s.infinities == s.negative_infinities;
}

// Operations that place or add elements: -inf from a constant they read is a mask's.
bool places_masks(const std::string& op) {
    static constexpr std::array<std::string_view, 4> kNames{"where", "add", "attention", "concat"};
    return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

bool is_mask(const InspectedEntry& entry, const InspectedInput& x) {
    const bool given =
        x.kind == InputKind::constant && (places_masks(entry.name) || x.dead_end == "detached");
    return given && x.values.negative_infinities > 0 && is_finite_above(x.values);
}

NonFiniteTensor input_tensor(const InspectedEntry& entry, std::size_t i) {
    const InspectedInput& x = entry.inputs[i];
    return {fmt::format("input {} ({})", i, x.name), x.shape, x.dtype, x.values};
}

std::string numbered(const char* what, std::size_t i, std::size_t count) {
    return count == 1 ? what : fmt::format("{} {}", what, i);
}

void add_forward(std::vector<NonFiniteTensor>& to, const InspectedEntry& entry) {
    for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
        const InspectedOutput& y = entry.outputs[i];
        to.push_back({numbered("output", i, entry.outputs.size()), y.shape, y.dtype, y.values});
    }
    for (std::size_t i = 0; i < entry.inputs.size(); ++i) {
        if (entry.inputs[i].defined) to.push_back(input_tensor(entry, i));
    }
}

NonFinite finding_at(const InspectedEntry& entry, int number, NonFiniteOrigin origin) {
    return {.origin = origin, .entry = number, .op = entry.name, .module = entry.module};
}

// The gradients that an entry's rule received; those that are not finite first.
std::vector<NonFiniteTensor> arrived_at(const InspectedEntry& entry) {
    std::vector<NonFiniteTensor> all;
    for (std::size_t i = 0; i < entry.outputs.size(); ++i) {
        const InspectedOutput& y = entry.outputs[i];
        if (!y.gradient) continue;
        const std::string what = numbered("gradient of output", i, entry.outputs.size());
        all.push_back({what, y.shape, y.dtype, *y.gradient});
    }
    std::stable_partition(all.begin(), all.end(),
                          [](const NonFiniteTensor& t) { return !is_finite(t.values); });
    return all;
}

// A parameter, constant or other leaf that was not finite before the entry read it.
const InspectedInput* culprit_among(const InspectedEntry& entry) {
    for (const InspectedInput& x : entry.inputs) {
        const bool ours = x.kind == InputKind::computed || is_mask(entry, x);
        if (!ours && !is_finite(x.values)) return &x;
    }
    return nullptr;
}

NonFinite forward_finding(const InspectedEntry& entry, int number) {
    NonFinite finding = finding_at(entry, number, NonFiniteOrigin::operation);
    std::string culprit;
    if (const InspectedInput* x = culprit_among(entry)) {
        const bool ours = x->kind == InputKind::parameter;
        culprit = input_tensor(entry, static_cast<std::size_t>(x - entry.inputs.data())).what;
        finding.origin = ours ? NonFiniteOrigin::parameter : NonFiniteOrigin::input;
        finding.name = ours ? x->name : culprit;
    }
    add_forward(finding.tensors, entry);
    const auto rank = [&](const NonFiniteTensor& t) {
        return t.what == culprit ? 0 : is_finite(t.values) ? 2 : 1;
    };
    std::stable_sort(
        finding.tensors.begin(), finding.tensors.end(),
        [&](const NonFiniteTensor& a, const NonFiniteTensor& b) { return rank(a) < rank(b); });
    return finding;
}

std::string values_text(const NonFiniteTensor& t) {
    const ValueStatistics& s = t.values;
    std::string bad;
    const auto add = [&bad](std::int64_t count, const char* what) {
        if (count > 0) bad += fmt::format("{}{} {}", bad.empty() ? "" : ", ", count, what);
    };
    add(s.nans, "NaN");
    add(s.infinities - s.negative_infinities, "inf");
    add(s.negative_infinities, "-inf");
    const bool none_finite = s.nans + s.infinities == s.count;
    // -0 + 0 is 0
    const std::string range =
        none_finite ? "" : fmt::format("from {:.3g} to {:.3g}", s.min + 0.0, s.max + 0.0);
    if (s.count == 0) return std::string(is_floating(t.dtype) ? "empty" : name_of(t.dtype));
    if (bad.empty()) return range;
    return fmt::format("{} of {}{}{}", bad, s.count, range.empty() ? "" : ", the others ", range);
}

}  // namespace

void NonFiniteFinder::recorded(const InspectedEntry& entry, int number) {
    if (found_) return;
    const bool masked =
        entry.name == "pad" ||
        std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](const InspectedInput& x) {
            return is_mask(entry, x) || (masked_.contains(x.slot) && x.values.infinities > 0);
        });
    bool finite = true;
    for (const InspectedOutput& y : entry.outputs) {
        const bool on_purpose = masked && is_finite_above(y.values);
        if (!is_finite(y.values) && on_purpose) masked_.insert(y.slot);
        finite = finite && (is_finite(y.values) || on_purpose);
    }
    if (!finite) found_ = forward_finding(entry, number);
}

void NonFiniteFinder::walked(const InspectedEntry& entry, int number,
                             const std::vector<RuleGradient>& outgoing) {
    if (found_) return;
    const auto came = std::find_if(
        entry.outputs.begin(), entry.outputs.end(),
        [](const InspectedOutput& y) { return y.gradient && !is_finite(*y.gradient); });
    const auto made = std::find_if(outgoing.begin(), outgoing.end(),
                                   [](const RuleGradient& g) { return !is_finite(g.values); });
    if (came != entry.outputs.end()) {
        const bool sum = parts_[came->slot] > 1;
        found_ = finding_at(entry, number, sum ? NonFiniteOrigin::sum : NonFiniteOrigin::given);
    } else if (made != outgoing.end()) {
        const InspectedInput& x = entry.inputs[made->input];
        found_ = finding_at(entry, number, NonFiniteOrigin::rule);
        found_->name = fmt::format("input {} ({})", made->input, x.name);
        found_->tensors.push_back({"gradient for " + found_->name, x.shape, x.dtype, made->values});
    } else {
        for (const RuleGradient& g : outgoing) ++parts_[entry.inputs[g.input].slot];
        return;
    }
    found_->backward = true;
    const std::vector<NonFiniteTensor> arrived = arrived_at(entry);
    found_->tensors.insert(found_->tensors.end(), arrived.begin(), arrived.end());
    add_forward(found_->tensors, entry);
}

void NonFiniteFinder::summed(const std::string& parameter, const NonFiniteTensor& gradient) {
    if (found_ || is_finite(gradient.values)) return;
    found_ = NonFinite{
        .origin = NonFiniteOrigin::sum, .backward = true, .name = parameter, .tensors = {gradient}};
}

std::string headline(const NonFinite& f) {
    const char* what = f.tensors.front().values.nans > 0 ? "NaN" : "infinity";
    const std::string where =
        fmt::format("{} (#{}){}{}", f.op, f.entry, f.module.empty() ? "" : " in ", f.module);
    switch (f.origin) {
        case NonFiniteOrigin::operation: return fmt::format("first {}: {}, forward", what, where);
        case NonFiniteOrigin::parameter:
            return fmt::format("first {}: parameter {}, read by {}, forward", what, f.name, where);
        case NonFiniteOrigin::input:
            return fmt::format("first {}: {} that {} read, forward; it was there before", what,
                               f.name, where);
        case NonFiniteOrigin::rule:
            return fmt::format("first {}: {}, backward, in the gradient for {}", what, where,
                               f.name);
        case NonFiniteOrigin::given:
            return fmt::format(
                "first {}: the gradient that came to {}, backward: given as a cotangent or by a "
                "hook",
                what, where);
        case NonFiniteOrigin::sum: break;
    }
    const std::string whose =
        f.entry >= 0 ? "that came to " + where : fmt::format("of parameter {}", f.name);
    return fmt::format("first {}: the gradient {}, backward: a sum of finite ones", what, whose);
}

std::string to_text(const NonFinite& finding) {
    std::string text = headline(finding);
    for (const NonFiniteTensor& t : finding.tensors) {
        text += fmt::format("; {} {}: {}", t.what, t.shape, values_text(t));
    }
    return text;
}

}  // namespace tapestry
