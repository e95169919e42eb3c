// The printed report: one made by hand, line by line; one of a real check, except for its numbers;
// and both as JSON.
#include <tapestry/autograd/op.h>
#include <tapestry/tests/judge/support.h>

#include <cctype>
#include <nlohmann/json.hpp>

using namespace tapestry;
using test::contains;
using test::random;
using test::verdict_of;

namespace {

using Json = nlohmann::json;

// A report with one finding of each kind.
GradcheckReport everything() {
    GradcheckReport report;
    report.subject = "order 1";
    report.verdict = Verdict::fail;
    report.certainty = 0.999;
    report.runs = 123;
    report.complaints = {"input 0: the tape disagrees with differences and dual numbers"};
    SlopeReport slope{.where = "at [0, 1]", .claimed = -1.5};
    slope.judgement = {.verdict = Verdict::fail,
                       .numeric = 1.5,
                       .error = 2e-12,
                       .tolerance = 1.5e-11,
                       .step = 0.0078125,
                       .above = 2,
                       .below = -1};
    report.inputs.push_back(
        {.name = "weight",
         .shape = {2, 3},
         .verdict = Verdict::fail,
         .method = "every entry, 6",
         .compared = 6,
         .worst = slope,
         .opinions = {
             {.oracle = "dual numbers",
              .slope = 1.5,
              .claimed = -1.5,
              .tolerance = 1e-10,
              .agrees = false},
             {.oracle = "transpose", .slope = -1.5, .claimed = -1.5, .tolerance = 1e-10}}});
    report.inputs.push_back({.name = "bias",
                             .shape = {3},
                             .verdict = Verdict::inconclusive,
                             .reason = Reason::kink,
                             .method = "10 random directions",
                             .note = "relu (#2) takes different branches however small the step",
                             .compared = 10,
                             .inconclusive = 2});
    report.first_wrong = WrongOp{.op = "layer_norm",
                                 .module_path = "blocks.3.norm",
                                 .number = 17,
                                 .operand = 1,
                                 .shapes = "[4, 8], [8], [8] -> [4, 8]",
                                 .form = "as recorded for gradients of gradients",
                                 .slope = slope,
                                 .cause = {Mistake::sign, "claimed = -numeric", "a minus"},
                                 .others = 2};
    return report;
}

const std::string kEverything =
    R"(FAIL  order 1: 123 evaluations, an error would be seen with probability 0.999 or more
  input 0: the tape disagrees with differences and dual numbers
  FAIL         weight [2, 3]: every entry, 6
    dual numbers   1.5 against -1.5 by the tape (difference 3, allowed 1e-10)
  INCONCLUSIVE bias [3]: 10 random directions (kink); relu (#2) takes different branches however small the step
  worst: weight at [0, 1]
    claimed        -1.5
    numeric        1.5 +- 2.0e-12 (difference 3, allowed 1.5e-11)
    from           f(x+h) = 2, f(x-h) = -1, h = 0.00781
  first wrong op: layer_norm (#17, blocks.3.norm) [4, 8], [8], [8] -> [4, 8]
    gradient of    operand 1, as recorded for gradients of gradients at [0, 1]; 2 more entries are wrong
    claimed        -1.5
    numeric        1.5 +- 2.0e-12 (difference 3, allowed 1.5e-11)
    from           f(x+h) = 2, f(x-h) = -1, h = 0.00781
    looks like     sign flipped
    evidence       claimed = -numeric
    hint           a minus)";

// Every number with a point or an exponent becomes "#": rounding may differ.
std::string without_numbers(const std::string& text) {
    std::string masked;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        bool real = false;
        const auto number = [&](std::size_t k) {
            const char c = text[k];
            const bool sign = (c == '-' || c == '+') && k > i && text[k - 1] == 'e';
            return std::isdigit(static_cast<unsigned char>(c)) != 0 || sign || c == '.' ||
                   (c == 'e' && k > i && k + 1 < text.size() &&
                    (text[k + 1] == '-' || text[k + 1] == '+'));
        };
        if (std::isdigit(static_cast<unsigned char>(text[i])) != 0) {
            while (end < text.size() && number(end)) {
                real = real || text[end] == '.' || text[end] == 'e';
                ++end;
            }
        }
        if (real) {
            if (!masked.empty() && masked.back() == '-') masked.pop_back();
            masked += '#';
            i = end;
        } else {
            const std::size_t next = std::max(end, i + 1);
            masked += text.substr(i, next - i);
            i = next;
        }
    }
    return masked;
}

}  // namespace

TEST_CASE("report: printed, line by line") { CHECK_EQ(to_string(everything()), kEverything); }

TEST_CASE("report: fmt prints the same") { CHECK_EQ(fmt::format("{}", everything()), kEverything); }

TEST_CASE("report: of a wrong rule, but for its numbers") {
    const auto f = [](const Tensors& x) {
        const Tensor y = square(x[0]);
        const ModuleScope scope("head");
        return test::tanh_times(y, 2) * x[1];
    };
    const GradcheckReport report = gradcheck(f, {random({2, 3}), random({3}, 2)});
    CHECK_EQ(
        without_numbers(to_string(report)),
        fmt::format(R"(FAIL  order 1: {} evaluations
  FAIL         input 0 [2, 3]: full Jacobian, 6 x 6; every entry is wrong
  PASS         input 1 [3]: full Jacobian, 6 x 3, agrees to #
  worst: input 0 {}
    claimed        #
    numeric        # +- # (difference #, allowed #)
    from           f(x+h) = #, f(x-h) = #, h = #
  first wrong op: rule (#1, head) [2, 3] -> [2, 3]
    gradient of    operand 0 {}; every entry is wrong
    claimed        #
    numeric        # +- # (difference #, allowed #)
    from           f(x+h) = #, f(x-h) = #, h = #
    looks like     constant factor
    evidence       claimed = 2 * numeric (fitted 2), to # of its norm
    hint           d(x^2) is 2x; a half in a loss; a path walked twice)",
                    report.runs, report.inputs[0].worst.where, report.first_wrong->slope.where));
}

TEST_CASE("report: of a right function") {
    const GradcheckReport report =
        gradcheck([](const Tensors& x) { return sin(x[0]); }, {random({2})});
    CHECK_EQ(to_string(report), fmt::format("PASS  order 1: {} evaluations\n"
                                            "  PASS         input 0 [2]: full Jacobian, 2 x 2, "
                                            "agrees to {:.0e}",
                                            report.runs, report.resolution));
}

TEST_CASE("report: of many inputs those that are right are only counted") {
    GradcheckReport report = everything();
    report.first_wrong = {};
    report.cause = Cause{Mistake::detached, "operand 1 of mul (#3) changes", "a detach()"};
    for (int i = 0; i < 20; ++i) report.inputs.push_back({.name = fmt::format("p{}", i)});
    const std::string text = to_string(report);
    CHECK(contains(text, "\n  PASS         20 further inputs\n"));
    CHECK(contains(text, "\n  FAIL         weight [2, 3]"));
    CHECK(contains(text, "\n  INCONCLUSIVE bias [3]"));
    CHECK_FALSE(contains(text, "p7"));
    CHECK(contains(text,
                   "\n    looks like     detached from the tape\n"
                   "    evidence       operand 1 of mul (#3) changes\n"
                   "    hint           a detach()"));
}

TEST_CASE("report: JSON says the same") {
    const Json json = Json::parse(to_json(everything()));
    CHECK_EQ(json["subject"], "order 1");
    CHECK_EQ(json["verdict"], "FAIL");
    CHECK_EQ(json["reason"], "none");
    CHECK_EQ(json["evaluations"], 123);
    CHECK_EQ(json["certainty"], 0.999);
    CHECK_EQ(json["complaints"].size(), 1);
    REQUIRE_EQ(json["inputs"].size(), 2);
    const Json& weight = json["inputs"][0];
    CHECK_EQ(weight["name"], "weight");
    CHECK_EQ(weight["shape"], Json({2, 3}));
    CHECK_EQ(weight["verdict"], "FAIL");
    CHECK_EQ(weight["worst"]["where"], "at [0, 1]");
    CHECK_EQ(weight["worst"]["claimed"], -1.5);
    CHECK_EQ(weight["worst"]["numeric"], 1.5);
    CHECK_EQ(weight["worst"]["allowed"], 1.5e-11);
    CHECK_EQ(weight["oracles"].size(), 2);
    CHECK_EQ(weight["oracles"][0]["agrees"], false);
    CHECK_EQ(json["inputs"][1]["reason"], "kink");
    CHECK_EQ(json["inputs"][1]["inconclusive"], 2);
    const Json& wrong = json["first_wrong"];
    CHECK_EQ(wrong["op"], "layer_norm");
    CHECK_EQ(wrong["module"], "blocks.3.norm");
    CHECK_EQ(wrong["entry"], 17);
    CHECK_EQ(wrong["operand"], 1);
    CHECK_EQ(wrong["others"], 2);
    CHECK_EQ(wrong["cause"]["name"], "sign flipped");
    CHECK_EQ(wrong["cause"]["evidence"], "claimed = -numeric");
    CHECK_FALSE(json.contains("cause"));
}

TEST_CASE("report: JSON of real checks parses, NaN or not, and has their verdict") {
    for (const double factor :
         {1.0, 2.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
        const auto f = [factor](const Tensors& x) { return test::tanh_times(x[0], factor); };
        for (const test::Checker check : test::kBothOrders) {
            const GradcheckReport report = check(f, {random({2})}, {});
            const Json json = Json::parse(to_json(report));
            CHECK_EQ(json["verdict"], factor == 1 ? "PASS" : "FAIL");
            CHECK_EQ(json["verdict"], std::string(to_string(report.verdict)));
            CHECK_EQ(json.contains("first_wrong"), report.first_wrong.has_value());
        }
    }
}
