// Figures as text: what is drawn where, and errors.
#include <tapestry/core/error.h>
#include <tapestry/core/text/svg.h>
#include <tapestry/examples/school/experiments/plot.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tapestry::experiments;
using namespace tapestry::pictures;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

bool has(const std::string& text, const std::string& what) { return count(text, what) > 0; }

Plot line(std::vector<double> x, std::vector<double> y) {
    return {.title = "t", .series = {{.name = "s", .x = std::move(x), .y = std::move(y)}}};
}

// Every opened tag is closed, in order.
bool well_formed(const std::string& text) {
    std::vector<std::string> open;
    for (auto at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
        const auto end = text.find('>', at);
        if (end == std::string::npos) return false;
        const std::string tag = text.substr(at + 1, end - at - 1);
        if (tag.ends_with("/")) continue;
        const std::string name = tag.substr(0, tag.find(' '));
        if (!name.starts_with("/")) {
            open.push_back(name);
        } else if (open.empty() || open.back() != name.substr(1)) {
            return false;
        } else {
            open.pop_back();
        }
    }
    return open.empty();
}

}  // namespace

TEST_CASE("plot: a line goes where its numbers are") {
    Plot plot = line({0, 10}, {0, 1});
    plot.x = {.label = "steps", .low = 0, .high = 10};
    plot.y = {.label = "loss", .low = 0, .high = 1};
    const std::string text = svg(plot);
    // The area is 70 .. 620 wide; 62 .. 350 high below a title and one row of the legend.
    CHECK(has(text, "<path d=\"M70.0 350.0L620.0 62.0\" class=\"c0\"/>"));
    CHECK(has(text, ">steps</text>"));
    CHECK(has(text, ">loss</text>"));
    for (const char* tick : {">0</text>", ">2</text>", ">10</text>", ">0.2</text>", ">1</text>"}) {
        CHECK_MESSAGE(has(text, tick), tick);
    }
    CHECK(well_formed(text));
    CHECK(text == svg(plot));
}

TEST_CASE("plot: a logarithmic axis gives every factor the same room") {
    Plot plot = line({1, 10, 100}, {1, 10, 100});
    plot.x = {.log = true, .low = 1, .high = 100};
    plot.y = {.log = true, .low = 1, .high = 100};
    const std::string text = svg(plot);
    CHECK(has(text, "M70.0 350.0L345.0 206.0L620.0 62.0"));
    for (const char* tick : {">1</text>", ">5</text>", ">50</text>", ">100</text>"}) {
        CHECK_MESSAGE(has(text, tick), tick);
    }
}

TEST_CASE("plot: many powers of ten do not crowd their axis") {
    Plot plot = line({1, 2}, {1e-40, 1});
    plot.y.log = true;
    const std::string text = svg(plot);
    CHECK_EQ(count(text, "class=\"grid\""), 3 + 9);  // of x; 1, 1e-5, ... 1e-40
    CHECK(has(text, ">10\u207b\u2074\u2070</text>"));
    CHECK(has(text, ">1</text>"));
}

TEST_CASE("plot: what is not finite leaves a gap") {
    Plot plot = line({0, 1, 2, 3, 4}, {0, 1, NAN, 1, 0});
    const std::string text = svg(plot);
    const auto path = text.substr(text.find("<path d=\"M", text.find("<g clip")));
    CHECK_EQ(count(path.substr(0, path.find('>')), "M"), 2);
    plot.series[0].mark = Mark::points;
    CHECK_EQ(count(svg(plot), "<circle"), 4 + 1);  // and the legend's
}

TEST_CASE("plot: bars start at zero, side by side, above their names") {
    Plot plot{.title = "t", .x = {.names = {"a", "b"}}, .y = {.low = -1, .high = 1}};
    plot.series.push_back({.x = {0, 1}, .y = {1, -1}, .mark = Mark::bars});
    plot.series.push_back({.x = {0, 1}, .y = {0.5, 0.5}, .mark = Mark::bars});
    const std::string text = svg(plot);
    // The paper is 42 .. 350 high: zero at 196. One unit of x is 275 wide, a bar 0.4 of it.
    CHECK(has(text, "x=\"97.5\" y=\"42.0\" width=\"103.4\" height=\"154.0\" class=\"f0\""));
    CHECK(has(text, "x=\"372.5\" y=\"196.0\" width=\"103.4\" height=\"154.0\" class=\"f0\""));
    CHECK(has(text, "x=\"207.5\" y=\"119.0\" width=\"103.4\" height=\"77.0\" class=\"f1\""));
    CHECK(has(text, ">a</text>"));
    CHECK(has(text, ">b</text>"));
}

TEST_CASE("plot: intervals are bars with caps, and the axis has room for them") {
    Plot plot = line({0, 1, 2}, {1, 1, 1});
    plot.series[0].mark = Mark::line_and_points;
    const std::size_t without = count(svg(plot), "<path ");
    plot.series[0].error = {0.5, 0, std::nan("")};  // one interval: a bar, two caps
    const std::string with = svg(plot);
    CHECK_EQ(count(with, "<path "), without + 3);
    CHECK(well_formed(with));
    CHECK(has(with, ">1.5<"));
    CHECK(has(with, ">0.5<"));
    plot.y.high = 0.9;  // the points are above the axis, and the interval with them
    CHECK_EQ(count(svg(plot), "<path "), without);
    plot.y.high = {};
    plot.series[0].mark = Mark::bars;
    CHECK(has(svg(plot), "class=\"axis\""));
    // On a logarithmic axis what reaches 0 ends at the bottom.
    plot.y.log = true;
    plot.series[0].error = {2, 0.1, 0.1};
    CHECK(well_formed(svg(plot)));
    CHECK_FALSE(has(svg(plot), "nan"));
    plot.series[0].error = {1};
    CHECK_THROWS_WITH_AS(svg(plot), "plot 't': series 's' has 3 y and 1 intervals",
                         tapestry::ValueError);
}

TEST_CASE("plot: an interval of logarithms is as long above as below") {
    // exp of 0 +- ln 10, on an axis from 0.01 to 100: a quarter of its height up and down.
    Plot plot{.title = "t",
              .x = {.label = "x", .low = 0, .high = 1},
              .y = {.label = "y", .log = true, .low = 0.01, .high = 100}};
    plot.series = {exp_of({.name = "s", .x = {0, 1}, .y = {0, 0}, .error = {std::log(10), 0}})};
    CHECK(has(svg(plot), "M70.0 134.0L70.0 278.0"));  // 62 .. 350 high, as above
    plot.series[0].error_above.pop_back();
    CHECK_THROWS_WITH_AS(svg(plot),
                         "plot 't': series 's' has 2 intervals and 1 upper halves of them",
                         tapestry::ValueError);
}

TEST_CASE("plot: text is escaped, and follows light and dark without a script") {
    Plot plot = line({0, 1}, {0, 1});
    plot.title = "a < b & \"c\"";
    const std::string text = svg(plot);
    CHECK(has(text, "a &lt; b &amp; &quot;c&quot;"));
    CHECK(has(text, "prefers-color-scheme:dark"));
    CHECK_FALSE(has(text, "href"));
    CHECK_FALSE(has(text, "url(h"));
    CHECK_FALSE(has(text, "font-face"));
    CHECK(well_formed(text));
}

TEST_CASE("plot: more series than fit in a row get another one") {
    Plot plot;
    for (int i = 0; i < 7; ++i) {
        plot.series.push_back(
            {.name = "a rather long name " + std::to_string(i), .x = {0, 1}, .y = {0, 1}});
    }
    const std::string text = svg(plot);
    for (int i = 0; i < 7; ++i) CHECK(has(text, "long name " + std::to_string(i) + "</text>"));
    CHECK(has(text, "y=\"88.0\""));  // third row
}

TEST_CASE("heat map: deeper the farther from zero, another colour below it") {
    const std::string text = svg(HeatMap{.title = "t",
                                         .x_label = "keys",
                                         .y_label = "queries",
                                         .columns = {"a", "b"},
                                         .rows = {"c", "d"},
                                         .values = {{2, -1}, {0, NAN}}});
    CHECK(has(text, "class=\"f0\" fill-opacity=\"0.530\""));
    CHECK(has(text, "class=\"f1\" fill-opacity=\"0.265\""));
    CHECK(has(text, "class=\"f0\" fill-opacity=\"0.000\""));
    CHECK_EQ(count(text, "fill-opacity"), 3);
    CHECK(has(text, ">2.00</text>"));
    CHECK(has(text, ">-1.00</text>"));
    CHECK(has(text, ">-</text>"));
    CHECK(well_formed(text));
}

TEST_CASE("plot: a seventh series has a colour of its own, which others do not define") {
    Plot plot;
    for (int i = 0; i < 6; ++i) {
        plot.series.push_back({.name = std::to_string(i), .x = {0, 1}, .y = {0, 1}});
    }
    CHECK_FALSE(has(svg(plot), "c6"));
    plot.series.push_back({.name = "6", .x = {0, 1}, .y = {0, 1}});
    CHECK(has(svg(plot), "class=\"c6\""));
    CHECK_EQ(count(svg(plot), ".c6{stroke:"), 2);  // light and dark
}

TEST_CASE("heat map: intervals below the values") {
    HeatMap map{
        .columns = {"a", "b"}, .rows = {"c"}, .values = {{2, 1}}, .half_widths = {{0.25, NAN}}};
    const std::string text = svg(map);
    CHECK(has(text, ">\u00b10.25</text>"));
    CHECK_EQ(count(text, "\u00b1"), 1);
    CHECK(well_formed(text));
    map.half_widths = {{0.25}};
    CHECK_THROWS_AS(svg(map), tapestry::ValueError);
}

TEST_CASE("plot: what cannot be shown is refused") {
    using tapestry::ValueError;
    CHECK_THROWS_AS(svg(Plot{}), ValueError);
    CHECK_THROWS_AS(svg(line({}, {})), ValueError);
    CHECK_THROWS_AS(svg(line({1, 2}, {1})), ValueError);
    CHECK_THROWS_AS(svg(line({1}, {NAN})), ValueError);
    Plot plot = line({1, 2}, {0, 1});
    plot.y.log = true;
    CHECK_THROWS_WITH_AS(svg(plot), "plot 't': (1, 0) of series 's' on a logarithmic axis",
                         ValueError);
    CHECK_THROWS_AS(svg(HeatMap{}), ValueError);
    CHECK_THROWS_AS(svg(HeatMap{.columns = {"a"}, .rows = {"r"}, .values = {{1, 2}}}), ValueError);
}

// The ticks between 0.3 and the number after it would have been without end.
TEST_CASE("plot: numbers that differ by their rounding are the same") {
    const std::string text = svg(line({0, 1}, {0.3, 0.1 + 0.2}));
    CHECK(has(text, ">0.3</text>"));
    CHECK(has(text, ">0.28</text>"));
    CHECK(has(text, ">0.32</text>"));
}

TEST_CASE("plot: few whole numbers on a logarithmic axis are its ticks") {
    Plot plot = line({1, 2, 4, 8}, {1, 1, 2, 2});
    plot.x = {.label = "heads", .log = true};
    const std::string text = svg(plot);
    for (const char* tick : {">1</text>", ">2</text>", ">4</text>", ">8</text>"}) {
        CHECK_MESSAGE(has(text, tick), tick);
    }
    CHECK_FALSE(has(text, ">5</text>"));
    plot = line({1, 2.5, 8}, {1, 1, 2});  // not all integers
    plot.x = {.label = "heads", .log = true};
    CHECK(has(svg(plot), ">5</text>"));
}

TEST_CASE("plot: two dashed series have different dashes, small ticks powers of ten") {
    Plot plot = line({0, 1}, {1e-5, 1});
    plot.y = {.label = "share", .log = true};
    for (int i = 0; i < 2; ++i) {
        plot.series.push_back({.name = "theory", .x = {0, 1}, .y = {1e-4, 0.1}, .dashed = true});
    }
    const std::string text = svg(plot);
    CHECK(has(text, "class=\"c1\" stroke-dasharray=\"6 4\""));
    CHECK(has(text, "class=\"c2\" stroke-dasharray=\"2 4\""));
    CHECK(has(text, ">10\u207b\u2075</text>"));
    CHECK(has(text, ">10\u207b\u2074</text>"));
    CHECK(has(text, ">0.001</text>"));
}
