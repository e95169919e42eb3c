#include <tapestry/autograd/check/options_text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tapestry {
namespace {

std::string_view name_of(GradcheckMethod method) {
    switch (method) {
        case GradcheckMethod::automatic: return "automatic";
        case GradcheckMethod::jacobian: return "jacobian";
        case GradcheckMethod::entries: return "entries";
        case GradcheckMethod::directions: return "directions";
    }
    return {};
}

class Fields {
public:
    template <class T>
    void add(const char* name, const T& value, const T& usual) {
        if (value != usual) add(name, fmt::format("{}", value));
    }
    void add(const char* name, const std::optional<double>& value) {
        if (value) add(name, fmt::format("{}", *value));
    }
    void add(const char* name, const std::string& value) {
        all_.push_back(fmt::format(".{} = {}", name, value));
    }
    std::string text() const {
        return all_.empty() ? "" : fmt::format("{{{}}}", fmt::join(all_, ", "));
    }

private:
    std::vector<std::string> all_;
};

std::string text_of(const std::vector<Bounds>& bounds) {
    constexpr std::size_t kFew = 16;
    if (bounds.size() > kFew) return "bounds";
    std::vector<std::string> each;
    for (const Bounds& b : bounds) each.push_back(fmt::format("{{{}, {}}}", b.low, b.high));
    return fmt::format("{{{}}}", fmt::join(each, ", "));
}

std::string text_of(const GradcheckLimits& limits) {
    const GradcheckLimits usual;
    Fields fields;
    fields.add("resolution", limits.resolution, usual.resolution);
    fields.add("safety", limits.safety, usual.safety);
    fields.add("agreement", limits.agreement, usual.agreement);
    fields.add("approximation", limits.approximation, usual.approximation);
    fields.add("lost_may_pass", limits.lost_may_pass, usual.lost_may_pass);
    fields.add("exact", limits.exact, usual.exact);
    fields.add("evaluations", limits.evaluations, usual.evaluations);
    fields.add("seconds", limits.seconds, usual.seconds);
    return fields.text();
}

}  // namespace

// In the order of the struct, as C++ wants it.
std::string to_string(const GradcheckOptions& options) {
    const GradcheckOptions usual;
    Fields fields;
    if (options.method != usual.method) {
        fields.add("method", fmt::format("GradcheckMethod::{}", name_of(options.method)));
    }
    fields.add("certainty", options.certainty, usual.certainty);
    fields.add("eps", options.eps);
    fields.add("atol", options.atol);
    fields.add("rtol", options.rtol);
    fields.add("far_steps", options.far_steps, usual.far_steps);
    if (!options.bounds.empty()) fields.add("bounds", text_of(options.bounds));
    fields.add("points", options.points, usual.points);
    if (options.reset) fields.add("reset", std::string("reset"));
    fields.add("differences", options.differences, usual.differences);
    if (options.dual) fields.add("dual", std::string("dual"));
    fields.add("transpose", options.transpose, usual.transpose);
    fields.add("preconditions", options.preconditions, usual.preconditions);
    fields.add("explain", options.explain, usual.explain);
    if (options.format != usual.format) {
        fields.add("format", fmt::format("Format::{}", to_string(options.format)));
    }
    fields.add("noise", options.noise, usual.noise);
    fields.add("relative_noise", options.relative_noise, usual.relative_noise);
    if (const std::string limits = text_of(options.limits); !limits.empty()) {
        fields.add("limits", limits);
    }
    fields.add("seed", options.seed, usual.seed);
    return fields.text();
}

std::string checker::call_text(const std::string& call, const GradcheckOptions& options) {
    const std::string text = to_string(options);
    std::string all = call;
    return all.replace(all.find("{}"), 2, text.empty() ? "" : ", " + text);
}

}  // namespace tapestry
