// Results of checks as text and as JSON: a GradcheckReport, and a PrecisionReport (precision.h).
#include <tapestry/autograd/check/report.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/precision.h>
#include <tapestry/core/text/json_writer.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// The accuracy to which a class of entries agrees.
void write_class(Lines& text, const ClassReport& one) {
    const std::string sizes =
        one.most == 0 ? "claimed to be 0" : fmt::format("of {:.0e} to {:.0e}", one.least, one.most);
    line(text, "    {:<14} {}{}: {}", fmt::format("{} entries", one.entries), sizes, listed(one.of),
         one.resolution > 0 ? fmt::format("agree to {:.0e}", one.resolution) : "not resolved");
}

void write_input(Lines& text, const InputReport& input) {
    const bool why = input.verdict == Verdict::inconclusive;
    const bool cut = input.reason == Reason::limit;
    const bool seen = input.verdict == Verdict::pass && input.resolution > 0;
    line(text, "  {:<12} {} {}: {}{}{}{}{}{}", to_string(input.verdict), input.name, input.shape,
         input.method, why ? fmt::format(" ({})", to_string(input.reason)) : "",
         seen ? fmt::format(", agrees to {:.0e}", input.resolution) : "",
         listed(wrong_entries(input)), listed(input.note),
         cut ? fmt::format("; {} slopes compared before that", input.compared) : "");
    for (const ClassReport& one : input.classes) write_class(text, one);
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
    // Along directions only stretches of entries are seen.
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
    // A model has many parameters: inputs that pass are only counted.
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

// ---- as JSON ------------------------------------------------------------------------------------

namespace {

void write_number(JsonWriter& json, double value) {
    if (std::isfinite(value)) {
        json.value(value);
    } else {
        json.value(fmt::format("{}", value));  // JSON has no NaN
    }
}

void write_number(JsonWriter& json, std::string_view name, double value) {
    json.member(name, [&] { write_number(json, value); });
}

void write(JsonWriter& json, const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    json.object([&] {
        json.member("where", slope.where);
        write_number(json, "claimed", slope.claimed);
        write_number(json, "numeric", j.numeric);
        write_number(json, "error", j.error);
        write_number(json, "allowed", j.tolerance);
        write_number(json, "f_above", j.above);
        write_number(json, "f_below", j.below);
        write_number(json, "h", j.step);
        write_number(json, "noise", j.noise);
        write_number(json, "resolution", j.resolution);
        json.member("verdict", to_string(j.verdict));
        json.member("subgradient", j.subgradient);
    });
}

void write(JsonWriter& json, const Cause& cause) {
    json.object("name", to_string(cause.mistake), "evidence", cause.evidence, "hint", cause.hint);
}

void write(JsonWriter& json, const Unseen& unseen) {
    json.object("where", unseen.where, "reason", to_string(unseen.reason));
}

void write(JsonWriter& json, const Opinion& opinion) {
    json.object([&] {
        json.member("name", opinion.oracle);
        write_number(json, "slope", opinion.slope);
        write_number(json, "claimed", opinion.claimed);
        write_number(json, "allowed", opinion.tolerance);
        json.member("agrees", opinion.agrees);
    });
}

void write(JsonWriter& json, const ClassReport& one) {
    json.object([&] {
        json.member("entries", one.entries);
        write_number(json, "least", one.least);
        write_number(json, "most", one.most);
        json.member("of", one.of);
        write_number(json, "resolution", one.resolution);
    });
}

void write(JsonWriter& json, const InputReport& input) {
    json.object([&] {
        json.member("name", input.name);
        json.member("shape", input.shape);
        json.member("verdict", to_string(input.verdict));
        json.member("reason", to_string(input.reason));
        json.member("method", input.method);
        json.member("note", input.note);
        json.member("compared", input.compared);
        json.member("inconclusive", input.inconclusive);
        json.member("wrong", input.wrong);
        json.member("first_wrong", input.first_wrong);
        json.member("one_factor", input.one_factor);
        json.list("unseen", input.unseen, [&](const Unseen& unseen) { write(json, unseen); });
        json.member("steps", [&] {
            json.array([&] {
                write_number(json, input.least_step);
                write_number(json, input.most_step);
            });
        });
        write_number(json, "noise", input.noise);
        write_number(json, "resolution", input.resolution);
        json.list("classes", input.classes, [&](const ClassReport& one) { write(json, one); });
        json.member("worst", [&] { write(json, input.worst); });
        json.list("oracles", input.opinions, [&](const Opinion& opinion) { write(json, opinion); });
    });
}

void write(JsonWriter& json, const PointReport& point) {
    json.object([&] {
        json.member("what", point.what);
        json.member("verdict", to_string(point.verdict));
        json.member("reason", to_string(point.reason));
        json.list("starts_with", point.starts_with, [&](const std::vector<double>& numbers) {
            json.array([&] {
                for (const double x : numbers) write_number(json, x);
            });
        });
    });
}

void write(JsonWriter& json, const WrongOp& wrong) {
    json.object([&] {
        json.member("op", wrong.op);
        json.member("module", wrong.module_path);
        json.member("entry", wrong.number);
        json.member("operand", wrong.operand);
        json.member("shapes", wrong.shapes);
        json.member("form", wrong.form);
        json.member("wrong", wrong.wrong);
        json.member("slope", [&] { write(json, wrong.slope); });
        json.member("cause", [&] { write(json, wrong.cause); });
        json.member("others", wrong.others);
    });
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
    JsonWriter json(2);
    json.object([&] {
        json.member("subject", report.subject);
        json.member("verdict", to_string(report.verdict));
        json.member("reason", to_string(report.reason));
        json.member("evaluations", report.runs);
        json.member("certainty", report.certainty);
        write_number(json, "resolution", report.resolution);
        json.member("complaints", report.complaints);
        json.member("not_defined", report.not_defined);
        json.member("limit", report.limit);
        json.member("seed", report.seed);
        json.member("reproduce", report.reproduce);
        json.list("points", report.points, [&](const PointReport& point) { write(json, point); });
        json.list("inputs", report.inputs, [&](const InputReport& input) { write(json, input); });
        if (report.first_wrong) {
            json.member("first_wrong", [&] { write(json, *report.first_wrong); });
        }
        if (report.cause) json.member("cause", [&] { write(json, *report.cause); });
    });
    return json.text();
}

// ---- precision reports --------------------------------------------------------------------------

std::string to_string(const PrecisionReport& report) {
    const std::string of = report.subject.empty() ? "" : report.subject + ", ";
    std::string text = fmt::format("{}  {}{} against f64; ulps: 0, 1, 2-3, 4-15, 16-255, more",
                                   to_string(report.verdict), of, report.dtype);
    if (!report.complaint.empty()) text += "\n  " + report.complaint;
    for (const auto& input : report.inputs) {
        text += fmt::format("\n  {:<12} {} {}: {}", to_string(input.verdict), input.name,
                            input.shape, fmt::join(input.ulps, ", "));
        if (input.verdict == Verdict::pass) continue;
        text += fmt::format("\n    at {}: {} {:.8g}, f64 {:.12g} (allowed difference {:.2g}{}{})",
                            input.worst, report.dtype, input.narrow, input.f64, input.tolerance,
                            input.reason == Reason::none ? "" : "; ",
                            input.reason == Reason::none ? "" : to_string(input.reason));
    }
    return text;
}

std::string to_json(const PrecisionReport& report) {
    JsonWriter json(2);
    json.object([&] {
        json.member("subject", report.subject);
        json.member("dtype", name_of(report.dtype));
        json.member("verdict", to_string(report.verdict));
        json.member("reason", to_string(report.reason));
        json.member("complaint", report.complaint);
        json.list("inputs", report.inputs, [&](const PrecisionReport::Input& input) {
            json.object([&] {
                json.member("name", input.name);
                json.member("verdict", to_string(input.verdict));
                json.member("reason", to_string(input.reason));
                json.member("worst", input.worst);
                write_number(json, name_of(report.dtype), input.narrow);
                write_number(json, "f64", input.f64);
                write_number(json, "allowed", input.tolerance);
                json.member("ulps", input.ulps);
            });
        });
    });
    return json.text();
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::GradcheckReport>::format(
    const tapestry::GradcheckReport& report, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::to_string(report));
}
