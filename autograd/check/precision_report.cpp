#include <tapestry/autograd/check/precision.h>

#include <tapestry/core/text/json_writer.h>

#include <fmt/ranges.h>

namespace tapestry {

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
                json.member(name_of(report.dtype), input.narrow);
                json.member("f64", input.f64);
                json.member("allowed", input.tolerance);
                json.member("ulps", input.ulps);
            });
        });
    });
    return json.text();
}

}  // namespace tapestry
