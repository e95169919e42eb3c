#include <tapestry/autograd/check/report.h>

#include <tapestry/autograd/check/compare.h>

#include <fmt/format.h>

#include <cmath>

namespace tapestry {
namespace {

using Lines = fmt::memory_buffer;

template <class... Args>
void line(Lines& text, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text.push_back('\n');
}

void write_slope(Lines& text, const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    line(text, "    {:<14} {:.12g}", "claimed", slope.claimed);
    line(text, "    {:<14} {:.12g} +- {:.1e} (difference {:.3g}, allowed {:.2g})", "numeric",
         j.numeric, j.error, std::abs(slope.claimed - j.numeric), j.tolerance);
    line(text, "    {:<14} f(x+h) = {:.12g}, f(x-h) = {:.12g}, h = {:.3g}", "from", j.above,
         j.below, j.step);
}

std::string listed(const std::string& text) { return text.empty() ? "" : "; " + text; }

void write_cause(Lines& text, const Cause& cause) {
    line(text, "    {:<14} {}", "looks like", to_string(cause.mistake));
    line(text, "    {:<14} {}", "evidence", cause.evidence);
    line(text, "    {:<14} {}", "hint", cause.hint);
}

void write_input(Lines& text, const InputReport& input) {
    const bool why = input.verdict == Verdict::inconclusive;
    const bool cut = input.reason == Reason::limit;
    const bool seen = input.verdict == Verdict::pass && input.resolution > 0;
    line(text, "  {:<12} {} {}: {}{}{}{}{}{}", to_string(input.verdict), input.name, input.shape,
         input.method, why ? fmt::format(" ({})", to_string(input.reason)) : "",
         seen ? fmt::format(", agrees to {:.0e}", input.resolution) : "",
         listed(wrong_entries(input)), listed(input.note),
         cut ? fmt::format("; {} slopes compared till then", input.compared) : "");
    for (const Opinion& opinion : input.opinions) {
        if (opinion.agrees) continue;
        line(text,
             "    {:<14} {:.12g} against {:.12g} by the tape (difference {:.3g}, allowed {:.2g})",
             opinion.oracle, opinion.slope, opinion.claimed,
             std::abs(opinion.slope - opinion.claimed), opinion.tolerance);
    }
}

void write_point(Lines& text, const PointReport& point) {
    line(text, "  at {}: {}{}", point.what, to_string(point.verdict),
         point.reason == Reason::none ? "" : fmt::format(" ({})", to_string(point.reason)));
}

const InputReport* worst_input(const GradcheckReport& report) {
    const InputReport* worst = nullptr;
    for (const InputReport& input : report.inputs) {
        if (input.verdict == Verdict::pass) continue;
        if (worst == nullptr || input.verdict > worst->verdict) worst = &input;
    }
    return worst;
}

}  // namespace

std::string wrong_entries(const InputReport& report) {
    if (report.wrong == 0) return {};
    if (report.wrong == numel(report.shape)) return "every entry is wrong";
    const std::string first =
        checker::index_text(report.shape, static_cast<std::int64_t>(report.first_wrong));
    // Along directions stretches of entries are seen, not each.
    const bool at_least = report.wrong > 1 && report.compared < numel(report.shape);
    return fmt::format("{}{} {} wrong, the first at {}", at_least ? "at least " : "", report.wrong,
                       report.wrong == 1 ? "entry is" : "entries are", first);
}

std::string to_string(const GradcheckReport& report) {
    Lines text;
    line(text, "{}{}{}: {} evaluations{}", to_string(report.verdict),
         report.reason == Reason::none ? "" : fmt::format(" ({})", to_string(report.reason)),
         report.subject.empty() ? "" : "  " + report.subject, report.runs,
         report.certainty < 1
             ? fmt::format(", an error would be seen with probability {:.4g} or more",
                           report.certainty)
             : "");
    for (const std::string& complaint : report.complaints) line(text, "  {}", complaint);
    if (!report.limit.empty()) line(text, "  stopped at {}", report.limit);
    for (const PointReport& point : report.points) {
        if (report.points.size() > 1) write_point(text, point);
    }
    if (!report.not_defined.empty()) line(text, "  not defined at {}", report.not_defined);
    // A model has many parameters: those that are right are only counted.
    int right = 0;
    for (const InputReport& input : report.inputs) {
        const bool plain = input.verdict == Verdict::pass && input.note.empty();
        if (plain && report.inputs.size() > 12) {
            ++right;
        } else {
            write_input(text, input);
        }
    }
    if (right > 0) line(text, "  {:<12} {} further inputs", to_string(Verdict::pass), right);
    if (const InputReport* worst = worst_input(report)) {
        line(text, "  worst: {} {}", worst->name, worst->worst.where);
        write_slope(text, worst->worst);
    }
    if (report.first_wrong) {
        const WrongOp& wrong = *report.first_wrong;
        line(text, "  first wrong op: {} (#{}{}) {}", wrong.op, wrong.number,
             wrong.module_path.empty() ? "" : ", " + wrong.module_path, wrong.shapes);
        line(text, "    {:<14} operand {}{} {}{}{}", "gradient of", wrong.operand,
             wrong.form.empty() ? "" : ", " + wrong.form, wrong.slope.where, listed(wrong.wrong),
             wrong.others > 0 ? fmt::format("; {} more entries are wrong", wrong.others) : "");
        write_slope(text, wrong.slope);
        write_cause(text, wrong.cause);
    }
    if (report.cause) write_cause(text, *report.cause);
    text.resize(text.size() - 1);
    return fmt::to_string(text);
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::GradcheckReport>::format(
    const tapestry::GradcheckReport& report, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::to_string(report));
}
