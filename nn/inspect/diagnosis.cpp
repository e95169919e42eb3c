#include <tapestry/nn/inspect/diagnosis.h>

#include <tapestry/core/text/fixed_text.h>
#include <tapestry/nn/inspect/diagnosis_parts.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace tapestry {

// ---- commands -----------------------------------------------------------------------------------

namespace {

// A run that continues another cannot be repeated by its command.
bool is_repeatable(const std::string& command) {
    return !command.empty() && std::ranges::none_of(words_of(command), [](const auto& word) {
        return word == "--resume" || word == "--fork" || word == "--step";
    });
}

using Options = std::vector<std::pair<std::string, std::string>>;

// The run again, in another directory, with other options; an option without a value is a flag. It
// replaces nothing: the other directory may also hold a run.
std::string again(const RunFacts& f, const Options& options) {
    if (!is_repeatable(f.command)) return {};
    std::string command;
    for (const std::string& word : words_of(f.command)) {
        if (word != "--overwrite") command += (command.empty() ? "" : " ") + word;
    }
    for (const auto& [name, value] : options) command = with_option(command, name, value);
    std::string out = option_in(command, "--out");
    const std::string quote = out.size() > 1 && out.ends_with('\'') ? "'" : "";
    out.resize(out.size() - quote.size());
    while (out.size() > 1 + quote.size() && out.ends_with('/')) out.pop_back();
    return out.empty() ? command : with_option(command, "--out", out + "-2" + quote);
}

std::string rate_text(double lr) { return fmt::format("{:.4g}", lr); }

std::string at_rate(const RunFacts& f, double lr) {
    Options options{{"--lr", rate_text(lr)}};
    const bool has_end = !option_in(f.command, "--min-lr").empty();
    if (has_end) options.emplace_back("--min-lr", rate_text(lr / 10));
    return again(f, options);
}

// The rate that the run was to reach; it may have ended within the warm-up.
double chosen_rate(const RunFacts& f) {
    const std::string option = option_in(f.command, "--lr");
    double chosen = f.command.empty() ? f.lr : f.usual_lr;
    if (!option.empty()) std::from_chars(option.data(), option.data() + option.size(), chosen);
    return std::fmax(f.lr, chosen);  // either may be NaN
}

double lower_rate(const RunFacts& f) {
    return f.usual_lr > 0 && f.lr > f.usual_lr ? std::min(f.usual_lr, f.lr / 10) : f.lr / 10;
}

std::string sampling(const RunFacts& f) {
    const std::string out = option_in(f.command, "--out");
    return out.empty() ? "" : "tapestry " + f.use + " --model " + out;
}

std::string nothing(const RunFacts&) { return {}; }

std::string with_usual(const RunFacts& f, const char* option, const char* usual) {
    return option_in(f.command, option).empty() ? "" : again(f, {{option, usual}});
}

}  // namespace

// ---- signs --------------------------------------------------------------------------------------

namespace {

constexpr double kNoise = 0.1;                             // nats by which a mean fluctuates
constexpr double kFarAbove = 10;                           // times the usual rate
constexpr double kFarBelow = 0.03;                         // times the usual rate
constexpr double kLargeUpdate = 0.1, kSmallUpdate = 3e-5;  // of the value
constexpr std::int64_t kEarly = 20;                        // steps that show nothing yet

bool known(double x) { return std::isfinite(x); }

// The loss to judge a run by: on held-out text if it was evaluated.
double loss_of(const RunFacts& f) { return f.val.step > 0 ? f.val.value : f.recent; }

std::string loss_name(const RunFacts& f) {
    return f.val.step > 0 ? "the validation loss" : "the loss";
}

bool is_far_above(const RunFacts& f) { return f.usual_lr > 0 && f.lr > kFarAbove * f.usual_lr; }
bool is_far_below(const RunFacts& f) { return f.usual_lr > 0 && f.lr < kFarBelow * f.usual_lr; }

double higher_rate(const RunFacts& f) { return is_far_below(f) ? f.usual_lr : 100 * f.lr; }

// A loss that rose far above guessing, updates as large as the values, or an absurd rate.
bool rate_hurts(const RunFacts& f) {
    return f.above.step > 0 || is_far_above(f) || f.ratio > kLargeUpdate;
}

// The tokens' frequencies already predict it.
bool is_constant(const RunFacts& f) { return known(f.counting) && f.counting < 0.05; }

// More than noise below guessing, or most of the way to what counting tokens gives.
bool has_learned(const RunFacts& f) {
    const double gain = known(f.counting) ? f.guessing - f.counting : f.guessing;
    return loss_of(f) < f.guessing - std::max(0.02, std::min(kNoise, 0.5 * gain));
}

bool uses_nothing(const RunFacts& f) { return known(f.counting) && loss_of(f) > 0.97 * f.counting; }

// The untrained model is far worse than guessing, and has not recovered: it is at best as good as
// counting tokens. Weights of another model say nothing about their scale.
bool began_badly(const RunFacts& f) {
    return f.first.value > f.guessing + std::max(2.0, 0.5 * f.guessing) &&
           option_in(f.command, "--model").empty() &&
           (f.diverged || (f.last.step >= kEarly && (!has_learned(f) || uses_nothing(f))));
}

// Nearly all of every gradient is cut off, and nothing is learned.
bool is_throttled(const RunFacts& f) {
    return f.last.step >= kEarly && f.clipped > 0.9 && f.clip < 1e-3 * f.norm && !rate_hurts(f) &&
           !has_learned(f);
}

bool has_risen(const RunFacts& f) {
    if (f.lowest.step == 0 || f.lowest.value > f.guessing - kNoise) return false;
    return f.recent - f.lowest.value > std::max(2 * kNoise, 0.25 * (f.guessing - f.lowest.value));
}

// Far below guessing and counting tokens on held-out text, and no worse than ever: where the text
// has no pairs to count, or they predict it perfectly.
bool has_done_well(const RunFacts& f) {
    if (f.running || f.val.step == 0 || f.above.step > 0) return false;
    const bool beats_counting = !known(f.counting) || f.val.value < 0.95 * f.counting;
    return f.val.value < 0.5 * f.guessing && beats_counting &&
           f.val.value < f.lowest_val.value + 0.01;
}

// A run does not stop at a loss above guessing.
bool was_better(const RunFacts& f) {
    return f.lowest_val.step < f.val.step && !(f.lowest_val.value > f.guessing);
}

bool memorises(const RunFacts& f) {
    if (f.val.step == 0 || !known(f.recent)) return false;
    const double gap = f.val.value - f.recent;
    const double risen = f.val.value - f.lowest_val.value;
    const bool past = risen > std::max(kNoise, 0.05 * f.lowest_val.value);
    const bool never = f.val.value > f.guessing - kNoise && f.recent < f.guessing - 0.5;
    return gap > std::max(0.5, 0.2 * f.val.value) && (past || never);
}

std::string clipped_text(const RunFacts& f) {
    return f.clip > 0 && f.clipped > 0.9
               ? fmt::format("; {:.0f}% of the steps were clipped", 100 * f.clipped)
               : "";
}

std::string rise_text(const RunFacts& f) {
    if (f.above.step == 0) return {};
    return fmt::format(": the loss was {:.4g} at step {}, while guessing gives {:.3f}",
                       f.above.value, f.above.step, f.guessing);
}

// ---- rules --------------------------------------------------------------------------------------

// A rule: its name, when it holds, and what it says.
struct DiagnosisRule {
    const char* name;
    DiagnosisVerdict verdict;  // if it holds
    bool (*holds)(const RunFacts&);
    std::string (*text)(const RunFacts&);     // one sentence with the run's numbers
    std::string (*advice)(const RunFacts&);   // what to change, in words
    std::string (*command)(const RunFacts&);  // next command; may be empty
};

std::string high_text(const RunFacts& f) {
    const std::string rise = rise_text(f);
    const std::string now = f.diverged ? fmt::format("step {} was not finite", f.last.step + 1)
                                       : fmt::format("{} is {:.4g} now", loss_name(f), loss_of(f));
    const std::string sign =
        !rise.empty() ? rise + ", and " + (f.diverged ? now : fmt::format("{:.4g} now", loss_of(f)))
        : f.ratio > kLargeUpdate
            ? fmt::format(": a step changes the weights by {:.2g} of their size, and {}", f.ratio,
                          now)
            : fmt::format(": {:.3g} is usual for this optimiser, and {}", f.usual_lr, now);
    return fmt::format("the learning rate of {} is too high{}{}", rate_text(chosen_rate(f)), sign,
                       clipped_text(f));
}

std::string high_advice(const RunFacts& f) {
    return fmt::format("try {}", rate_text(lower_rate(f)));
}

std::string high_command(const RunFacts& f) { return at_rate(f, lower_rate(f)); }

std::string trap_advice(const RunFacts&) { return "find the operation"; }

std::string trap_command(const RunFacts& f) { return again(f, {{"--trap-nan", ""}}); }

bool has_ended_or_shown(const RunFacts& f) { return !f.running || f.last.step >= 5 * kEarly; }

std::string fewer_steps(const RunFacts& f) {
    return again(f, {{"--steps", std::to_string(f.lowest_val.step)}});
}

const std::array kRules{
    DiagnosisRule{"bad_start", DiagnosisVerdict::bad,
                  [](const RunFacts& f) { return f.diverged && f.last.step == 0; },
                  [](const RunFacts&) -> std::string {
                      return "the first step was not finite, before any update: the initial "
                             "weights hold NaN or infinity, or overflow";
                  },
                  trap_advice, trap_command},
    DiagnosisRule{
        "weights_too_large", DiagnosisVerdict::bad, began_badly,
        [](const RunFacts& f) {
            return fmt::format(
                "the initial weights are too large: the loss was {:.4g} at step {}, before any "
                "update, while guessing gives {:.3f}",
                f.first.value, f.first.step, f.guessing);
        },
        [](const RunFacts&) -> std::string { return "try a --deviation of 0.02"; },
        [](const RunFacts& f) { return with_usual(f, "--deviation", "0.02"); }},
    DiagnosisRule{"rate_too_high", DiagnosisVerdict::bad,
                  [](const RunFacts& f) { return f.diverged && rate_hurts(f); }, high_text,
                  high_advice, high_command},
    DiagnosisRule{"diverged", DiagnosisVerdict::bad, [](const RunFacts& f) { return f.diverged; },
                  [](const RunFacts& f) {
                      return fmt::format(
                          "step {} was not finite, after a loss of {:.4g} that had not risen",
                          f.last.step + 1, f.last.value);
                  },
                  trap_advice, trap_command},
    DiagnosisRule{"constant_text", DiagnosisVerdict::bad, is_constant,
                  [](const RunFacts& f) {
                      return fmt::format(
                          "the text is almost the same {} throughout: counting {}s "
                          "reaches a loss of {:.3g}, so there is nothing to learn",
                          f.unit, f.unit, f.counting);
                  },
                  [](const RunFacts&) -> std::string { return "train on another text"; }, nothing},
    DiagnosisRule{
        "clip_too_small", DiagnosisVerdict::bad, is_throttled,
        [](const RunFacts& f) {
            return fmt::format(
                "clipping leaves almost nothing of the gradient: its norm is {:.3g}, clipped to "
                "{:.3g} in {:.0f}% of the steps, and the loss went from {:.4f} to {} only",
                f.norm, f.clip, 100 * f.clipped, f.first.value, fixed_text(f.recent));
        },
        [](const RunFacts&) -> std::string { return "try --clip 1"; },
        [](const RunFacts& f) {
            return again(f, {{"--clip", "1"}});
        }},
    DiagnosisRule{"rate_too_high", DiagnosisVerdict::bad,
                  [](const RunFacts& f) {
                      const bool shown =
                          f.last.step >= kEarly || loss_of(f) > clearly_above(f.guessing);
                      return shown && rate_hurts(f) && !memorises(f) &&
                             (loss_of(f) > f.guessing - kNoise || uses_nothing(f));
                  },
                  high_text, high_advice, high_command},
    DiagnosisRule{"worse_than_its_start", DiagnosisVerdict::bad,
                  [](const RunFacts& f) { return is_worse_than_its_start(f, loss_of(f)); },
                  [](const RunFacts& f) {
                      return fmt::format("{} is {}, above the {:.4f} of the model it began from",
                                         loss_name(f), fixed_text(loss_of(f)), loss_at_start(f));
                  },
                  [](const RunFacts& f) { return fmt::format("try {}", rate_text(f.lr / 10)); },
                  [](const RunFacts& f) { return at_rate(f, f.lr / 10); }},
    DiagnosisRule{"unstable", DiagnosisVerdict::bad,
                  [](const RunFacts& f) { return f.last.step >= kEarly && has_risen(f); },
                  [](const RunFacts& f) {
                      return fmt::format("the loss fell to {} by step {} and has risen to {}",
                                         fixed_text(f.lowest.value), f.lowest.step,
                                         fixed_text(f.recent)) +
                             clipped_text(f);
                  },
                  [](const RunFacts& f) {
                      return fmt::format("try a learning rate of {} or a longer warm-up",
                                         rate_text(f.lr / 3));
                  },
                  [](const RunFacts& f) { return at_rate(f, f.lr / 3); }},
    DiagnosisRule{
        "memorises", DiagnosisVerdict::bad, memorises,
        [](const RunFacts& f) {
            const std::string lowest = was_better(f)
                                           ? fmt::format(", after {:.4f} at step {}",
                                                         f.lowest_val.value, f.lowest_val.step)
                                           : "";
            return fmt::format(
                "the model memorises what it learns from: the validation loss is "
                "{}{}, while the training loss is {:.4f}",
                fixed_text(f.val.value), lowest, f.recent);
        },
        [](const RunFacts& f) {
            return "use more text or dropout" +
                   (was_better(f) ? fmt::format(", or stop at step {}", f.lowest_val.step) : "");
        },
        [](const RunFacts& f) { return f.running || !was_better(f) ? "" : fewer_steps(f); }},
    DiagnosisRule{"no_pattern", DiagnosisVerdict::bad,
                  [](const RunFacts& f) {
                      return !f.running && f.last.step >= 5 * kEarly && !is_far_below(f) &&
                             known(f.pairs) && std::min(f.pairs, f.counting) > 0.98 * f.guessing &&
                             loss_of(f) > f.guessing - kNoise;
                  },
                  [](const RunFacts& f) {
                      return fmt::format(
                          "neither the model nor counting finds a pattern in this "
                          "text: {} is {:.4f}, guessing gives {:.4f}, counting "
                          "pairs {:.4f}",
                          loss_name(f), loss_of(f), f.guessing, f.pairs);
                  },
                  [](const RunFacts&) -> std::string { return "train on more or other text"; },
                  nothing},
    DiagnosisRule{
        "rate_too_low", DiagnosisVerdict::bad,
        [](const RunFacts& f) {
            const bool slow = is_far_below(f) || f.ratio < kSmallUpdate;
            return has_ended_or_shown(f) && f.last.step >= kEarly && slow && !rate_hurts(f) &&
                   !has_learned(f) && f.lr >= 0.5 * chosen_rate(f);
        },
        [](const RunFacts& f) {
            const std::string sign =
                f.ratio < kSmallUpdate
                    ? fmt::format("a step changes the weights by {:.2g} of their size", f.ratio)
                    : fmt::format("{:.3g} is usual for this optimiser", f.usual_lr);
            return fmt::format(
                "the learning rate of {} is too low: {}, and the loss "
                "went from {:.4f} to {:.4f} only",
                rate_text(chosen_rate(f)), sign, f.first.value, f.recent);
        },
        [](const RunFacts& f) { return fmt::format("try {}", rate_text(higher_rate(f))); },
        [](const RunFacts& f) { return at_rate(f, higher_rate(f)); }},
    DiagnosisRule{
        "good", DiagnosisVerdict::good,
        [](const RunFacts& f) {
            // Counting alone knows nothing of what a translator or classifier reads.
            const double least = known(f.pairs) ? std::min(f.pairs, f.guessing) : 0.5 * f.counting;
            return !f.running && f.val.step > 0 && has_learned(f) && loss_of(f) < least - 0.01 &&
                   !is_worse_than_its_start(f, loss_of(f) + kNoise);
        },
        [](const RunFacts& f) {
            const bool pairs = known(f.pairs);
            return fmt::format("the run went well: {} is {:.4f}, counting {} gives {:.4f}",
                               loss_name(f), loss_of(f), pairs ? "pairs" : f.unit + "s",
                               pairs ? f.pairs : f.counting);
        },
        nothing, sampling},
    DiagnosisRule{"needs_steps", DiagnosisVerdict::open,
                  [](const RunFacts& f) {
                      return !f.running && f.last.step >= 5 * kEarly && known(f.pairs) &&
                             has_learned(f) && f.before - f.recent > 0.02 &&
                             (f.val.step == 0 || f.val.value <= f.lowest_val.value);
                  },
                  [](const RunFacts& f) {
                      return fmt::format(
                          "the model is still learning: {} is {:.4f} and falling, "
                          "counting pairs gives {:.4f}",
                          loss_name(f), loss_of(f), f.pairs);
                  },
                  [](const RunFacts&) -> std::string { return "give it more steps"; },
                  [](const RunFacts& f) {
                      return again(f, {{"--steps", std::to_string(3 * f.planned)}});
                  }},
    DiagnosisRule{"learned", DiagnosisVerdict::good, has_done_well,
                  [](const RunFacts& f) {
                      return fmt::format(
                          "the model has learned: {} is {:.4f}, guessing gives {:.4f}",
                          loss_name(f), loss_of(f), f.guessing);
                  },
                  nothing, sampling},
};

}  // namespace

Diagnosis diagnose(const RunFacts& facts) {
    if (!known(facts.guessing) && !facts.diverged) return {};
    for (const DiagnosisRule& rule : kRules) {
        if (!rule.holds(facts)) continue;
        return {rule.verdict, rule.name, rule.text(facts), rule.advice(facts), rule.command(facts)};
    }
    return {};
}

std::string to_text(const Diagnosis& d) {
    return d.text + (d.advice.empty() ? "" : "; " + d.advice) +
           (d.command.empty() ? "" : "; next: " + d.command);
}

}  // namespace tapestry
