// Reports as JSON against docs/gradcheck_report.schema.json, supporting as much of JSON Schema as
// that file uses.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/core/file.h>
#include <tapestry/tests/judge/support.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tapestry;
using test::verdict_of;
using Json = nlohmann::json;
using Plain = std::vector<double>;

namespace {

class Schema {
public:
    explicit Schema(Json root) : root_(std::move(root)) {}

    /// The violations in a value, one per line.
    std::vector<std::string> wrong_with(const Json& value) {
        wrong_.clear();
        look(value, root_, "report");
        return wrong_;
    }

private:
    void look(const Json& value, const Json& schema, const std::string& place) {
        if (schema.contains("$ref")) {
            const std::string to = schema["$ref"];
            look(value, root_.at(Json::json_pointer(to.substr(1))), place);
        }
        if (schema.contains("enum")) {
            const Json& words = schema["enum"];
            check(std::find(words.begin(), words.end(), value) != words.end(), place, value.dump());
        }
        if (schema.contains("type")) look_at_type(value, schema, place);
        if (value.is_object() && schema.contains("properties")) look_into(value, schema, place);
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
            look(value[i], schema.value("items", Json::object()), fmt::format("{}[{}]", place, i));
        }
        if (value.is_array()) {
            check(value.size() >= schema.value("minItems", std::size_t{0}) &&
                      value.size() <= schema.value("maxItems", std::size_t{1} << 20),
                  place, "is too long or too short");
        }
        if (value.is_number()) {
            check(value.get<double>() >= schema.value("minimum", -1e308), place, "is too small");
            check(value.get<double>() <= schema.value("maximum", 1e308), place, "is too large");
        }
    }

    void look_at_type(const Json& value, const Json& schema, const std::string& place) {
        const Json& type = schema["type"];
        const Json allowed = type.is_array() ? type : Json::array({type});
        const bool fits = std::any_of(allowed.begin(), allowed.end(), [&](const Json& name) {
            return name == value.type_name() || (name == "integer" && value.is_number_integer());
        });
        check(fits, place, "is of another type: " + value.dump());
        if (schema.contains("pattern") && value.is_string()) {  // the schema has only one pattern
            check(value == "nan" || value == "-nan" || value == "inf" || value == "-inf", place,
                  value.dump());
        }
    }

    void look_into(const Json& value, const Json& schema, const std::string& place) {
        for (const Json& key : schema["required"]) {
            check(value.contains(key.get<std::string>()), place, "lacks " + key.dump());
        }
        for (const auto& [key, member] : value.items()) {
            if (schema["properties"].contains(key)) {
                look(member, schema["properties"][key], place + "." + key);
            } else {
                check(schema.value("additionalProperties", true), place, "has " + key);
            }
        }
    }

    void check(bool holds, const std::string& place, const std::string& what) {
        if (!holds) wrong_.push_back(fmt::format("{}: {}", place, what));
    }

    Json root_;
    std::vector<std::string> wrong_;
};

Schema the_schema() {
    return Schema(
        Json::parse(read_file(test::source_dir() / "docs" / "gradcheck_report.schema.json")));
}

void check_fits(const GradcheckReport& report) {
    const auto wrong = the_schema().wrong_with(Json::parse(to_json(report)));
    INFO(fmt::format("{}\n{}", fmt::join(wrong, "\n"), to_json(report)));
    CHECK(wrong.empty());
}

double sum_of_squares(const Plain& x) {
    double sum = 0;
    for (const double a : x) sum += a * a;
    return sum;
}
Plain twice(const Plain& x) {
    Plain g = x;
    for (double& a : g) a *= 2;
    return g;
}

}  // namespace

TEST_CASE("schema: reports of every kind fit") {
    const auto sine = [](const Tensors& x) { return sin(x[0]) * x[1]; };
    const Tensors inputs{test::random({2, 3}), test::random({3}, 2)};
    check_fits(gradcheck(sine, inputs, {.transpose = true}));
    check_fits(gradgradcheck(sine, inputs));
    check_fits(gradcheck([](const Tensors& x) { return test::tanh_times(x[0], 2); }, inputs));
    check_fits(gradcheck([](const Tensors& x) { return sin(x[0].detach()) * x[1]; }, inputs));
    check_fits(gradcheck([](const Tensors& x) { return sqrt(x[0]); }, {tensor<double>({0})}));
    check_fits(check_gradient(sum_of_squares, twice, {1, 2, 3}, {.points = 3}));
    check_fits(
        check_gradient(sum_of_squares, twice, Plain(300, 1.0), {.limits = {.evaluations = 20}}));
    check_fits(check_gradient(
        sum_of_squares, [](const Plain& x) { return Plain(x.size(), std::nan("")); }, {1, 2}));
}

TEST_CASE("schema: what does not fit is found") {
    const GradcheckReport report = check_gradient(sum_of_squares, twice, {1, 2});
    const Json right = Json::parse(to_json(report));
    Schema schema = the_schema();
    REQUIRE(schema.wrong_with(right).empty());
    Json wrong = right;
    wrong.erase("seed");
    CHECK_EQ(schema.wrong_with(wrong).at(0), "report: lacks \"seed\"");
    wrong = right;
    wrong["inputs"][0]["verdict"] = "MAYBE";
    CHECK_EQ(schema.wrong_with(wrong).at(0), "report.inputs[0].verdict: \"MAYBE\"");
    wrong = right;
    wrong["inputs"][0]["worst"]["h"] = "large";
    CHECK_EQ(schema.wrong_with(wrong).at(0), "report.inputs[0].worst.h: \"large\"");
    wrong = right;
    wrong["points"][0]["starts_with"] = 1;
    CHECK_FALSE(schema.wrong_with(wrong).empty());
    wrong = right;
    wrong["surprise"] = 1;
    CHECK_EQ(schema.wrong_with(wrong).at(0), "report: has surprise");
}

TEST_CASE("schema: knows every verdict and every reason") {
    const Json schema =
        Json::parse(read_file(test::source_dir() / "docs" / "gradcheck_report.schema.json"));
    const auto words = [&schema](const char* what) {
        return schema["$defs"][what]["enum"].get<std::vector<std::string>>();
    };
    std::vector<std::string> reasons, verdicts;
    for (int i = 0; !to_string(static_cast<Reason>(i)).empty(); ++i) {
        reasons.emplace_back(to_string(static_cast<Reason>(i)));
    }
    for (int i = 0; !to_string(static_cast<Verdict>(i)).empty(); ++i) {
        verdicts.emplace_back(to_string(static_cast<Verdict>(i)));
    }
    const auto sorted = [](std::vector<std::string> all) {
        std::sort(all.begin(), all.end());
        return all;
    };
    CHECK_EQ(sorted(reasons), sorted(words("reason")));
    CHECK_EQ(sorted(verdicts), sorted(words("verdict")));
}

TEST_CASE("report: how to have it again, in one line") {
    const GradcheckOptions options{
        .bounds = {{0, 5}}, .points = 2, .limits = {.evaluations = 900}, .seed = 7};
    CHECK_EQ(check_gradient(sum_of_squares, twice, {1, 2.5}, options).reproduce,
             "check_gradient(f, grad, {1, 2.5}, {.bounds = {{0, 5}}, .points = 2, .limits = "
             "{.evaluations = 900}, .seed = 7})");
    CHECK_EQ(check_gradient(sum_of_squares, twice, {1}).reproduce, "check_gradient(f, grad, {1})");
    CHECK_EQ(check_gradient(sum_of_squares, twice, Plain(100, 1.0)).reproduce,
             "check_gradient(f, grad, x)");
    const auto sine = [](const Tensors& x) { return sin(x[0]); };
    CHECK_EQ(gradcheck(sine, {test::random({2})}, {.certainty = 0.9}).reproduce,
             "gradcheck(f, inputs, {.certainty = 0.9})");
    CHECK_EQ(gradgradcheck(sine, {test::random({2})}).reproduce, "gradgradcheck(f, inputs)");
}

TEST_CASE("report: what could not be seen, with which steps and noise") {
    // x^2, and a kink of infinite slope at the second number
    const auto f = [](const Plain& x) { return x[0] * x[0] + 1e-7 * std::sqrt(std::abs(x[1])); };
    const auto g = [](const Plain& x) { return Plain{2 * x[0], 0}; };
    const GradcheckReport report = check_gradient(f, g, {1.5, 0});
    const InputReport& input = report.inputs.at(0);
    CHECK_GT(input.least_step, 0);
    CHECK_GE(input.most_step, input.least_step);
    CHECK_GT(input.noise, 0);
    CHECK_LT(input.noise, 1e-12);
    CHECK_EQ(input.inconclusive, input.unseen.size());
    const Json json = Json::parse(to_json(report));
    CHECK_EQ(json["inputs"][0]["steps"], Json({input.least_step, input.most_step}));
    CHECK_EQ(json["points"][0]["starts_with"], Json({{1.5, 0.0}}));
    for (const Json& unseen : json["inputs"][0]["unseen"]) {
        CHECK_EQ(unseen["where"], "at [1]");
    }
}
