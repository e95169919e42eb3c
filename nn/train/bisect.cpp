#include <tapestry/nn/train/bisect.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/ops/optimizer_step.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace tapestry {
namespace {

using Quantity = StepCondition::Quantity;
using Relation = StepCondition::Relation;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr std::pair<std::string_view, Quantity> kQuantities[] = {
    {"loss", Quantity::loss},
    {"val_loss", Quantity::val_loss},
    {"grad_norm", Quantity::grad_norm},
    {"update_ratio", Quantity::update_ratio},
    {"non_finite", Quantity::non_finite}};

// Longer ones first, because ">=" begins with ">".
constexpr std::pair<std::string_view, Relation> kRelations[] = {{">=", Relation::at_least},
                                                                {"<=", Relation::at_most},
                                                                {">", Relation::above},
                                                                {"<", Relation::below}};

std::string_view name_of(Quantity quantity) {
    return kQuantities[static_cast<std::size_t>(quantity)].first;
}

// Removes the text before any of `ends` from `text` and returns it, trimmed.
std::string_view take_until(std::string_view& text, std::string_view ends) {
    const std::size_t end = std::min(text.find_first_of(ends), text.size());
    std::string_view taken = text.substr(0, end);
    text.remove_prefix(end);
    while (taken.starts_with(' ')) taken.remove_prefix(1);
    while (taken.ends_with(' ')) taken.remove_suffix(1);
    return taken;
}

std::optional<StepCondition> parse(std::string_view text) {
    StepCondition condition;
    const std::string_view name = take_until(text, "(<>");
    const auto quantity = std::find_if(std::begin(kQuantities), std::end(kQuantities),
                                       [&](const auto& q) { return q.first == name; });
    if (quantity == std::end(kQuantities)) return std::nullopt;
    condition.quantity = quantity->second;
    if (condition.quantity == Quantity::non_finite) {
        return text.empty() ? std::optional(condition) : std::nullopt;
    }
    if (condition.quantity == Quantity::update_ratio && text.starts_with('(')) {
        text.remove_prefix(1);
        condition.parameter = take_until(text, ")");
        if (text.empty() || condition.parameter.empty()) return std::nullopt;
        text.remove_prefix(1);
        if (!take_until(text, "<>").empty()) return std::nullopt;
    }
    const auto relation = std::find_if(std::begin(kRelations), std::end(kRelations),
                                       [&](const auto& r) { return text.starts_with(r.first); });
    if (relation == std::end(kRelations)) return std::nullopt;
    condition.relation = relation->second;
    text.remove_prefix(relation->first.size());
    const std::string_view number = take_until(text, "");
    const char* end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, condition.bound);
    if (error != std::errc{} || stop != end || std::isnan(condition.bound)) return std::nullopt;
    return condition;
}

double recorded(const StepMetrics& metrics, Quantity quantity) {
    if (quantity == Quantity::val_loss) return metrics.val_loss.value_or(kNone);
    return quantity == Quantity::loss ? metrics.loss : metrics.grad_norm;
}

FoundStep find_recorded(const RunHistory& history, const StepCondition& condition,
                        std::int64_t after) {
    for (const StepMetrics& metrics : history.steps()) {
        const double value = recorded(metrics, condition.quantity);
        if (metrics.step > after && condition.holds(value)) {
            return {.step = metrics.step,
                    .what = fmt::format("{} {}", name_of(condition.quantity), value)};
        }
    }
    return {};
}

// The parameter with the largest ratio among those named; the first one wins a tie.
const ParameterFlow* most_updated(const std::vector<ParameterFlow>& flow, const std::string& name) {
    const ParameterFlow* most = nullptr;
    bool known = name.empty();
    for (const ParameterFlow& p : flow) {
        if (!name.empty() && p.name != name && !p.name.starts_with(name + ".")) continue;
        known = true;
        if (std::isfinite(p.ratio()) && (most == nullptr || p.ratio() > most->ratio())) most = &p;
    }
    require(known, "bisect: no parameter or module is called {}", utf8::quoted(name));
    return most;
}

// Examines steps by replaying them.
class Search {
public:
    Search(const Replayer& replayer, const StepCondition& condition)
        : replayer_(replayer), condition_(condition) {}

    /// Whether the condition holds for the session's next step.
    bool look(Session& session) {
        const ReplayedStep step = replay_step(session, false);
        if (condition_.quantity == Quantity::non_finite) {
            if (std::isfinite(sum_of_squares(session.module().parameters()))) return false;
            found.what = "the weights after it are not finite";
            return true;
        }
        const ParameterFlow* most = most_updated(step.flow, condition_.parameter);
        if (most == nullptr || !condition_.holds(most->ratio())) return false;
        found.what = fmt::format("update_ratio {} ({})", most->ratio(), most->name);
        return true;
    }

    bool probe(std::int64_t step) {
        found.probed.push_back(step);
        return look(*replayer_.session_before(step));
    }

    /// Examines a range of steps, stopping at the first for which the condition holds.
    bool walk(std::int64_t first, std::int64_t last) {
        if (first > last) return false;
        found.walk_first = first;
        auto session = replayer_.session_before(first);
        for (std::int64_t step = first; step <= last; ++step) {
            replayer_.advance(session, step);
            found.walk_last = step;
            if (!look(*session)) continue;
            found.step = step;
            return true;
        }
        return false;
    }

    FoundStep found;

private:
    const Replayer& replayer_;
    const StepCondition& condition_;
};

// "1, 51, 101, 151"; long lists are shortened.
std::string list_of(const std::vector<std::int64_t>& steps) {
    constexpr std::size_t kMost = 16;
    if (steps.size() <= kMost) return fmt::format("{}", fmt::join(steps, ", "));
    return fmt::format("{}, ..., {} ({} of them)",
                       fmt::join(steps.begin(), steps.begin() + 8, ", "), steps.back(),
                       steps.size());
}

}  // namespace

bool StepCondition::holds(double value) const {
    switch (relation) {
        case Relation::above: return value > bound;
        case Relation::at_least: return value >= bound;
        case Relation::below: return value < bound;
        case Relation::at_most: return value <= bound;
    }
    return false;
}

StepCondition parse_condition(std::string_view text) {
    const auto condition = parse(text);
    require(condition.has_value(),
            "bisect: {} is not a condition, such as 'grad_norm > 2', with >, >=, < or <=, of loss, "
            "val_loss, grad_norm, update_ratio or update_ratio(PARAMETER); or non_finite",
            utf8::quoted(text));
    return *condition;
}

FoundStep find_first(const RunHistory& history, const Replayer& replayer,
                     const StepCondition& condition, std::int64_t after) {
    const std::int64_t last = history.last_step();
    require(after >= 0 && after < last, "bisect: no step comes after step {}; the last is {}",
            after, last);
    if (condition.is_recorded()) return find_recorded(history, condition, after);
    std::vector<std::int64_t> probes{after + 1};
    for (const StoredCheckpoint& one : history.stored()) {
        if (one.step > probes.back() && one.step < last) probes.push_back(one.step + 1);
    }
    Search search(replayer, condition);
    std::int64_t looked = after;
    for (const std::int64_t step : probes) {
        if (search.probe(step)) {
            search.found.step = step;
            search.walk(looked + 1, step - 1);  // may find an earlier one
            return std::move(search.found);
        }
        looked = step;
    }
    search.walk(looked + 1, last);
    return std::move(search.found);
}

std::string looked_at(const FoundStep& found, const RunHistory& history) {
    if (found.probed.empty()) {
        return fmt::format("looked at all {} steps, in metrics.jsonl", history.last_step());
    }
    std::string text = fmt::format("looked at step{} {}", found.probed.size() > 1 ? "s" : "",
                                   list_of(found.probed));
    if (found.walk_first > 0) {
        text += fmt::format(", then at each from {} to {}", found.walk_first, found.walk_last);
    }
    // A single probe leaves no gap before the steps that were walked.
    return found.probed.size() == 1
               ? text
               : text + "; a short excursion between them may have been missed";
}

}  // namespace tapestry
