#include <tapestry/autograd/check/precision.h>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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
    using Json = nlohmann::ordered_json;
    Json json{{"subject", report.subject},
              {"dtype", name_of(report.dtype)},
              {"verdict", to_string(report.verdict)},
              {"reason", to_string(report.reason)},
              {"complaint", report.complaint},
              {"inputs", Json::array()}};
    for (const auto& input : report.inputs) {
        json["inputs"].push_back({{"name", input.name},
                                  {"verdict", to_string(input.verdict)},
                                  {"reason", to_string(input.reason)},
                                  {"worst", input.worst},
                                  {name_of(report.dtype), input.narrow},
                                  {"f64", input.f64},
                                  {"allowed", input.tolerance},
                                  {"ulps", input.ulps}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tapestry
