#include <tapestry/autograd/capi/options_by_name.h>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace tapestry::capi {
namespace {

using Json = nlohmann::json;

// Whoever reads a value says what it should have been; read_request() says of which option.
struct Unfit {
    const char* wanted;
};

double number(const Json& value) {
    if (!value.is_number()) throw Unfit{"a number"};
    return value.get<double>();
}

std::string text(const Json& value) {
    if (!value.is_string()) throw Unfit{"a text"};
    return value.get<std::string>();
}

bool truth(const Json& value) {
    if (!value.is_boolean()) throw Unfit{"true or false"};
    return value.get<bool>();
}

std::uint64_t whole(const Json& value) {
    if (!value.is_number_unsigned()) throw Unfit{"a whole number, 0 or more"};
    return value.get<std::uint64_t>();
}

Shape shape(const Json& value) {
    constexpr const char* wanted = "an array of sizes";
    if (!value.is_array()) throw Unfit{wanted};
    Shape sizes;
    for (const Json& size : value) {
        if (!size.is_number_unsigned() || sizes.rank() == Shape::kMaxRank) throw Unfit{wanted};
        sizes.push_back(size.get<std::int64_t>());
    }
    return sizes;
}

std::vector<Shape> shapes(const Json& value) {
    if (!value.is_array()) throw Unfit{"an array of shapes"};
    std::vector<Shape> all;
    for (const Json& one : value) all.push_back(shape(one));
    return all;
}

int count(const Json& value) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    if (whole(value) > kMost) throw Unfit{"a whole number below 2^31"};
    return static_cast<int>(whole(value));
}

GradcheckMethod method(const Json& value) {
    static const std::pair<const char*, GradcheckMethod> names[] = {
        {"automatic", GradcheckMethod::automatic},
        {"jacobian", GradcheckMethod::jacobian},
        {"entries", GradcheckMethod::entries},
        {"directions", GradcheckMethod::directions},
    };
    for (const auto& [name, meant] : names) {
        if (value == name) return meant;
    }
    throw Unfit{R"("automatic", "jacobian", "entries" or "directions")"};
}

Format format(const Json& value) {
    for (const Format meant : {Format::f64, Format::f32, Format::bf16, Format::f16}) {
        if (value == to_string(meant)) return meant;
    }
    throw Unfit{R"("f64", "f32", "bf16" or "f16")"};
}

Bounds pair_of_bounds(const Json& value) {
    Bounds bounds;
    if (!value[0].is_null()) bounds.low = number(value[0]);
    if (!value[1].is_null()) bounds.high = number(value[1]);
    return bounds;
}

std::vector<Bounds> bounds(const Json& value) {
    constexpr const char* wanted =
        "[low, high] for all numbers or one such pair for each; null where there is no bound";
    const auto is_pair = [](const Json& pair) {
        return pair.is_array() && pair.size() == 2 &&
               std::all_of(pair.begin(), pair.end(),
                           [](const Json& bound) { return bound.is_null() || bound.is_number(); });
    };
    if (is_pair(value)) return {pair_of_bounds(value)};
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_pair)) throw Unfit{wanted};
    std::vector<Bounds> all;
    for (const Json& pair : value) all.push_back(pair_of_bounds(pair));
    return all;
}

struct Option {
    const char* name;
    void (*set)(Request& request, const Json& value);
    bool compares = false;  // of a comparison, too
};

// docs/python.md has the same names in the same order.
constexpr Option kOptions[] = {
    {"shape", [](Request& r, const Json& v) { r.shape = shape(v); }, true},
    {"inputs", [](Request& r, const Json& v) { r.inputs = shapes(v); }, true},
    {"output", [](Request& r, const Json& v) { r.output = shape(v); }, true},
    {"subject", [](Request& r, const Json& v) { r.subject = text(v); }, true},
    {"method", [](Request& r, const Json& v) { r.options.method = method(v); }},
    {"certainty", [](Request& r, const Json& v) { r.options.certainty = number(v); }},
    {"bounds", [](Request& r, const Json& v) { r.options.bounds = bounds(v); }, true},
    {"points", [](Request& r, const Json& v) { r.options.points = count(v); }},
    {"evaluations",
     [](Request& r, const Json& v) {
         r.options.limits.evaluations = static_cast<std::int64_t>(whole(v));
     }},
    {"seconds", [](Request& r, const Json& v) { r.options.limits.seconds = number(v); }},
    {"noise", [](Request& r, const Json& v) { r.options.noise = number(v); }},
    {"relative_noise", [](Request& r, const Json& v) { r.options.relative_noise = number(v); }},
    {"format", [](Request& r, const Json& v) { r.options.format = format(v); }, true},
    {"resolution", [](Request& r, const Json& v) { r.options.limits.resolution = number(v); }},
    {"safety", [](Request& r, const Json& v) { r.options.limits.safety = number(v); }},
    {"eps", [](Request& r, const Json& v) { r.options.eps = number(v); }},
    {"atol", [](Request& r, const Json& v) { r.options.atol = number(v); }},
    {"rtol", [](Request& r, const Json& v) { r.options.rtol = number(v); }},
    {"explain", [](Request& r, const Json& v) { r.options.explain = truth(v); }},
    {"seed", [](Request& r, const Json& v) { r.options.seed = whole(v); }, true},
};

const Option& option_called(const std::string& name, Purpose purpose) {
    std::vector<std::string_view> known;
    for (const Option& option : kOptions) {
        if (purpose == Purpose::comparison && !option.compares) continue;
        if (name == option.name) return option;
        known.emplace_back(option.name);
    }
    fail("{}: no option is called {}; there are {}",
         purpose == Purpose::check ? "check_gradient" : "compare_precisions", name,
         fmt::join(known, ", "));
}

constexpr int kDepth = 100;  // of the options: an error prints the value, which is recursive

}  // namespace

Request read_request(std::string_view json, Purpose purpose) {
    Request request;
    if (json.empty()) return request;
    const auto limit = [](int depth, Json::parse_event_t, const Json&) {
        require(depth <= kDepth, "check_gradient: the options are nested deeper than {} levels",
                kDepth);
        return true;
    };
    const Json all = Json::parse(json, limit, false);
    require(all.is_object(), "check_gradient: the options are no JSON object: {}", json);
    for (const auto& [name, value] : all.items()) {
        const Option& option = option_called(name, purpose);
        try {
            option.set(request, value);
        } catch (const Unfit& unfit) {
            fail("check_gradient: the option {} is {}; it must be {}", name, value.dump(),
                 unfit.wanted);
        }
    }
    return request;
}

}  // namespace tapestry::capi
