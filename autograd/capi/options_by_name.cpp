#include <tapestry/autograd/capi/options_by_name.h>

#include <tapestry/core/text/json_tree.h>

#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapestry::capi {
namespace {

// Thrown by the reader of a value: what it should have been. read_request() adds the option's name.
struct Unfit {
    const char* wanted;
};

double number(const JsonNode& value) {
    if (!value.holds<double>()) throw Unfit{"a number"};
    return value.get<double>();
}

std::string text(const JsonNode& value) {
    if (!value.holds<std::string>()) throw Unfit{"a string"};
    return value.get<std::string>();
}

bool truth(const JsonNode& value) {
    if (!value.holds<bool>()) throw Unfit{"true or false"};
    return value.get<bool>();
}

std::uint64_t whole(const JsonNode& value) {
    if (!value.holds<std::uint64_t>()) throw Unfit{"a whole number, 0 or more"};
    return value.get<std::uint64_t>();
}

Shape shape(const JsonNode& value) {
    static_assert(Shape::kMaxRank == 8);
    constexpr const char* wanted = "an array of at most 8 sizes";
    if (!value.is(JsonKind::array)) throw Unfit{wanted};
    Shape sizes;
    for (const JsonNode& size : value.elements()) {
        if (!size.holds<std::uint64_t>() || sizes.rank() == Shape::kMaxRank) throw Unfit{wanted};
        sizes.push_back(static_cast<std::int64_t>(size.get<std::uint64_t>()));
    }
    return sizes;
}

std::vector<Shape> shapes(const JsonNode& value) {
    if (!value.is(JsonKind::array)) throw Unfit{"an array of shapes"};
    std::vector<Shape> all;
    for (const JsonNode& one : value.elements()) all.push_back(shape(one));
    return all;
}

int count(const JsonNode& value) {
    constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
    if (whole(value) > kMost) throw Unfit{"a whole number below 2^31"};
    return static_cast<int>(whole(value));
}

bool says(const JsonNode& value, std::string_view word) {
    return value.holds<std::string>() && value.get<std::string>() == word;
}

GradcheckMethod method(const JsonNode& value) {
    static const std::pair<const char*, GradcheckMethod> names[] = {
        {"automatic", GradcheckMethod::automatic},
        {"jacobian", GradcheckMethod::jacobian},
        {"entries", GradcheckMethod::entries},
        {"directions", GradcheckMethod::directions},
    };
    for (const auto& [name, meant] : names) {
        if (says(value, name)) return meant;
    }
    throw Unfit{R"("automatic", "jacobian", "entries" or "directions")"};
}

Format format(const JsonNode& value) {
    for (const Format meant : {Format::f64, Format::f32, Format::bf16, Format::f16}) {
        if (says(value, to_string(meant))) return meant;
    }
    throw Unfit{R"("f64", "f32", "bf16" or "f16")"};
}

bool read_bound(const JsonNode& value, double& bound) {
    if (value.is(JsonKind::null)) return true;
    if (!value.holds<double>()) return false;
    bound = value.get<double>();
    return true;
}

// nullopt if `value` is not a pair of bounds.
std::optional<Bounds> pair_of_bounds(const JsonNode& value) {
    if (!value.is(JsonKind::array)) return std::nullopt;
    const std::vector<JsonNode> pair = value.elements();
    Bounds bounds;
    const bool fits =
        pair.size() == 2 && read_bound(pair[0], bounds.low) && read_bound(pair[1], bounds.high);
    return fits ? std::optional(bounds) : std::nullopt;
}

std::vector<Bounds> bounds(const JsonNode& value) {
    constexpr const char* wanted =
        "[low, high] for all numbers or one such pair for each; null where there is no bound";
    if (const auto pair = pair_of_bounds(value)) return {*pair};
    if (!value.is(JsonKind::array)) throw Unfit{wanted};
    std::vector<Bounds> all;
    for (const JsonNode& element : value.elements()) {
        const auto pair = pair_of_bounds(element);
        if (!pair) throw Unfit{wanted};
        all.push_back(*pair);
    }
    return all;
}

struct Option {
    const char* name;
    void (*set)(Request& request, const JsonNode& value);
    bool compares = false;   // applies to a comparison as well
    bool of_kernel = false;  // applies only to a kernel
};

// docs/python.md has the same names in the same order.
constexpr Option kOptions[] = {
    {"shape", [](Request& r, const JsonNode& v) { r.shape = shape(v); }, true},
    {"inputs", [](Request& r, const JsonNode& v) { r.inputs = shapes(v); }, true},
    {"output", [](Request& r, const JsonNode& v) { r.output = shape(v); }, true},
    {"outputs", [](Request& r, const JsonNode& v) { r.outputs = shapes(v); }, false, true},
    {"subject", [](Request& r, const JsonNode& v) { r.subject = text(v); }, true},
    {"method", [](Request& r, const JsonNode& v) { r.options.method = method(v); }},
    {"certainty", [](Request& r, const JsonNode& v) { r.options.certainty = number(v); }},
    {"bounds", [](Request& r, const JsonNode& v) { r.options.bounds = bounds(v); }, true},
    {"points", [](Request& r, const JsonNode& v) { r.options.points = count(v); }},
    {"evaluations",
     [](Request& r, const JsonNode& v) {
         r.options.limits.evaluations = static_cast<std::int64_t>(whole(v));
     }},
    {"seconds", [](Request& r, const JsonNode& v) { r.options.limits.seconds = number(v); }},
    {"noise", [](Request& r, const JsonNode& v) { r.options.noise = number(v); }},
    {"relative_noise", [](Request& r, const JsonNode& v) { r.options.relative_noise = number(v); }},
    {"format", [](Request& r, const JsonNode& v) { r.options.format = format(v); }, true},
    {"resolution", [](Request& r, const JsonNode& v) { r.options.limits.resolution = number(v); }},
    {"safety", [](Request& r, const JsonNode& v) { r.options.limits.safety = number(v); }},
    {"eps", [](Request& r, const JsonNode& v) { r.options.eps = number(v); }},
    {"atol", [](Request& r, const JsonNode& v) { r.options.atol = number(v); }},
    {"rtol", [](Request& r, const JsonNode& v) { r.options.rtol = number(v); }},
    {"conventions", [](Request& r, const JsonNode& v) { r.conventions = truth(v); }},
    {"explain", [](Request& r, const JsonNode& v) { r.options.explain = truth(v); }},
    {"seed", [](Request& r, const JsonNode& v) { r.options.seed = whole(v); }, true},
};

const Option& option_called(const std::string& name, Purpose purpose) {
    std::vector<std::string_view> known;
    for (const Option& option : kOptions) {
        if (purpose == Purpose::comparison && !option.compares) continue;
        if (purpose != Purpose::kernel && option.of_kernel) continue;
        if (name == option.name) return option;
        known.emplace_back(option.name);
    }
    fail("{}: unknown option {}; the options are {}",
         purpose == Purpose::comparison ? "compare_precisions" : "check_gradient", name,
         fmt::join(known, ", "));
}

JsonTree read_options(std::string_view json) {
    try {
        return JsonTree(json);
    } catch (const JsonSyntaxError& error) {
        fail("check_gradient: the options are {}: {}", error.what(), json);
    } catch (const JsonError& error) {
        fail("check_gradient: in the options: {}", error.what());
    }
}

}  // namespace

Request read_request(std::string_view json, Purpose purpose) {
    Request request;
    if (json.empty()) return request;
    const JsonTree all = read_options(json);
    require(all.root().is(JsonKind::object),
            "check_gradient: the options are not a JSON object: {}", json);
    for (const auto& [name, value] : all.root().members()) {
        const Option& option = option_called(name, purpose);
        try {
            option.set(request, value);
        } catch (const Unfit& unfit) {
            fail("check_gradient: the option {} must be {}, got {}", name, unfit.wanted,
                 value.text());
        }
    }
    return request;
}

}  // namespace tapestry::capi
