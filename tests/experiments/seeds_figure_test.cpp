// The picture of the values of seeds: which claims have a row, where dots, intervals and bounds
// are, and values that are the same, few, far from the bound or not finite.
#include <tapestry/examples/school/experiments/plot.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <vector>

using namespace tapestry::experiments;

namespace {

constexpr double kLeft = 246, kRight = 628;  // of every axis

// The picture below its key; empty without one.
std::string rows_of(const std::vector<Claim>& claims, const Report& report) {
    const Experiment experiment{"e", "?", "t", claims, nullptr, nullptr};
    const auto figure = seeds_figure(experiment, report);
    if (!figure) return "";
    CHECK_EQ(figure->name, "seeds");
    const std::size_t key = figure->svg.find("bound farther off");
    REQUIRE(key != std::string::npos);
    return figure->svg.substr(key);
}

std::string row_of(const Rule& rule, const std::vector<double>& values) {
    return rows_of({{"so", "It is so.", "nats", rule}}, {.decided = {{"so", student(values)}}});
}

// The numbers that `pattern` captures.
std::vector<double> all_of(const std::string& svg, const std::string& pattern) {
    const std::regex wanted(pattern);
    std::vector<double> numbers;
    for (std::sregex_iterator at(svg.begin(), svg.end(), wanted), none; at != none; ++at) {
        numbers.push_back(std::stod((*at)[1]));
    }
    return numbers;
}

std::vector<double> dots_of(const std::string& svg) {
    return all_of(svg, "<circle cx=\"([0-9.]+)\"");
}

std::vector<double> bounds_of(const std::string& svg) {
    return all_of(svg, "<path d=\"M([0-9.]+) [^>]*class=\"c1\"");
}

bool has(const std::string& svg, const std::string& text) {
    return svg.find(text) != std::string::npos;
}

bool has_arrow(const std::string& svg) { return has(svg, "class=\"f1\""); }

// The place of a number on an axis from `low` to `high`, within the rounding to a tenth.
doctest::Approx at(double value, double low, double high) {
    return doctest::Approx(kLeft + (value - low) / (high - low) * (kRight - kLeft)).epsilon(2e-4);
}

}  // namespace

TEST_CASE("values of seeds: dots, interval, bound and verdict of a claim") {
    // Mean 3, interval 3 +- 1.96. With the bound, 0 to 5, and a twentieth on both sides: in steps
    // of 0.1, -0.3 to 5.3.
    const std::string svg = row_of(above(0), {1, 2, 3, 4, 5});
    const std::vector<double> dots = dots_of(svg);
    REQUIRE_EQ(dots.size(), 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(dots[i] == at(static_cast<double>(i + 1), -0.3, 5.3));
    }
    REQUIRE_EQ(bounds_of(svg).size(), 1);
    CHECK(bounds_of(svg)[0] == at(0, -0.3, 5.3));
    CHECK(has(svg, ">-0.3</text>"));
    CHECK(has(svg, ">5.3</text>"));
    const std::vector<double> caps = all_of(svg, "<path d=\"M([0-9.]+) [^>]*class=\"c5\"");
    REQUIRE_EQ(caps.size(), 3);  // the interval begins where its first cap is
    CHECK(caps[0] == at(student({1, 2, 3, 4, 5}).low, -0.3, 5.3));
    CHECK(caps[2] == at(student({1, 2, 3, 4, 5}).high, -0.3, 5.3));
    CHECK(has(svg, "mean 3: <tspan style=\"font-weight:bold\">holds</tspan></text>"));
    CHECK(has(svg, "5 values; rule: above 0"));
    CHECK(has(svg, ">nats</text>"));
    const std::vector<double> green = all_of(svg, "<rect x=\"([0-9.]+)\"[^>]*class=\"f2\"");
    REQUIRE_EQ(green.size(), 1);
    CHECK(green[0] == at(0, -0.3, 5.3));
    CHECK_FALSE(has_arrow(svg));
}

TEST_CASE("values of seeds: dots of equal values are at different heights, always the same") {
    const std::string svg = row_of(above(0.5), {1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    const std::vector<double> heights = all_of(svg, "<circle [^>]*cy=\"([0-9.]+)\"");
    REQUIRE_EQ(heights.size(), 10);
    for (std::size_t i = 0; i < 10; ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK(std::abs(heights[i] - heights[j]) > 2);
    }
    CHECK(svg == row_of(above(0.5), {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
    CHECK(bounds_of(svg)[0] == at(0.5, 0.47, 1.03));
    CHECK(dots_of(svg)[0] == at(1, 0.47, 1.03));
}

TEST_CASE("values of seeds: values equal to the bound, and zeros") {
    for (const double value : {0.0, 1.0, -3e-12}) {
        const std::string svg = row_of(above(value), {value, value, value});
        CHECK(dots_of(svg)[0] == doctest::Approx((kLeft + kRight) / 2).epsilon(1e-4));
        CHECK(bounds_of(svg)[0] == dots_of(svg)[0]);
        CHECK(has(svg, ">not shown</tspan>"));
        CHECK_FALSE(has(svg, "nan"));
    }
}

TEST_CASE("values of seeds: a bound far from them is an arrow, and does not move them together") {
    const std::vector<double> values{500, 520, 540};
    const std::string far_below = row_of(above(0.5), values),
                      far_above = row_of(below(1e4), values);
    for (const std::string& svg : {far_below, far_above}) {
        CHECK(has_arrow(svg));
        CHECK(bounds_of(svg).empty());
        CHECK(dots_of(svg)[2] - dots_of(svg)[0] > 100);
        CHECK(has(svg, "width=\"382.0\" height=\"44.0\" class=\"f2\""));  // all of it is green
    }
    CHECK(has(far_below, "<polygon points=\"246.0,"));
    CHECK(has(far_above, "<polygon points=\"628.0,"));
    // Where the rule is broken nothing is green.
    const std::string broken = row_of(below(0.5), values);
    CHECK(has_arrow(broken));
    CHECK_FALSE(has(broken, "class=\"f2\""));
    // One bound near, one far.
    const std::string both = row_of(between(490, 1e5), values);
    CHECK_EQ(bounds_of(both).size(), 1);
    CHECK(has(both, "<polygon points=\"628.0,"));
}

TEST_CASE("values of seeds: one seed has no interval, and what is not finite is counted") {
    const std::string one = row_of(above(0), {2});
    CHECK_EQ(dots_of(one).size(), 1);
    CHECK(all_of(one, "<path d=\"M([0-9.]+) [^>]*class=\"c5\"").empty());
    const double infinite = std::numeric_limits<double>::infinity();
    const std::string some = row_of(above(0), {2, std::nan(""), 3, infinite});
    CHECK_EQ(dots_of(some).size(), 2);
    CHECK(has(some, "4 values, 2 not finite; rule"));
    CHECK_FALSE(has(some, "=\"nan"));
    CHECK_EQ(row_of(above(0), {std::nan(""), std::nan("")}), "");
}

TEST_CASE("values of seeds: only claims with values have a row") {
    const std::vector<Claim> claims{{"computed", "A.", "x", above(0)},
                                    {"a_share", "B.", "x", above(0)},
                                    {"unknown", "C.", "x", above(0)},
                                    {"measured", "D.", "nats < bits", above(0)}};
    Report report{.decided = {{"computed", exactly(1)},
                              {"a_share", share(3, 4)},
                              {"unknown", unmeasured()},
                              {"measured", student({1, 2, 3, 4})}}};
    const std::string svg = rows_of(claims, report);
    CHECK(has(svg, ">measured</text>"));
    CHECK(has(svg, "nats &lt; bits"));
    for (const char* none : {"computed", "a_share", "unknown"}) CHECK_FALSE(has(svg, none));
    CHECK(has(svg, ">holds</tspan>"));
    report.undecided["measured"] = "the best rate is at the edge of its grid";
    CHECK(has(rows_of(claims, report), ">not shown</tspan>"));
    report.decided["measured"] = exactly(1);
    CHECK_EQ(rows_of(claims, report), "");
}

TEST_CASE("values of seeds: a verdict that Holm's correction changes has both") {
    std::vector<Claim> claims;
    Report report;
    for (const char* name : {"a", "b", "c", "d"}) {  // p = 0.044: 0.17 among four
        claims.push_back({name, std::string(name) + ".", "x", above(0)});
        report.decided[name] = student({0.2, 0.9, 0.5, 1.3, 0.2});
    }
    CHECK(has(rows_of(claims, report), ">holds</tspan> (corrected: not shown)"));
}
