// Curves, maps and tapes as text, word for word: columns that align in any script.
#include <tapestry/core/create.h>
#include <tapestry/core/text/unicode.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/terminal/text_label.h>
#include <tapestry/nn/terminal/text_map.h>
#include <tapestry/nn/terminal/text_plot.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

using namespace tapestry;
using namespace tapestry::terminal;
using test::check_message;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Heads whose queries attend to one key each: targets[head][query].
AttentionTrace looking_at(const std::vector<std::vector<int>>& targets, std::int64_t keys) {
    AttentionTrace a;
    a.module = "block.attention";
    a.heads = std::ssize(targets);
    a.queries = std::ssize(targets.front());
    a.keys = keys;
    for (const auto& head : targets) {
        for (const int target : head) {
            for (int key = 0; key < keys; ++key) a.weights.push_back(key == target ? 1.0f : 0.0f);
        }
    }
    a.entropy.assign(targets.size(), 0.5);
    return a;
}

class Weights : public Module {
public:
    Tensor w = tensor<float>({1, -2, 3});
    Weights() : Module("Weights") { register_parameter("w", w); }
};

}  // namespace

TEST_CASE("text view: how wide characters are") {
    for (const char32_t one : U" a~\u00E9\u00AD\u0416\u05D0\u2500\uFF76") {
        if (one != 0) CHECK_EQ(unicode::width_of(one), 1);
    }
    for (const char32_t two : U"\u732B\u3042\uD55C\uFF21\u3000\U0001F600\U00020000") {
        if (two != 0) CHECK_EQ(unicode::width_of(two), 2);
    }
    // Combining marks, a joiner, a vowel and a final consonant of Hangul, a variation selector.
    for (const char32_t none : U"\u0301\u0E31\u200D\u1161\u11A8\uFE0F") {
        if (none != 0) CHECK_EQ(unicode::width_of(none), 0);
    }
    char32_t last = 0;
    for (const unicode::WidthRange& range : unicode::width_ranges()) {
        CHECK(range.first > last);
        CHECK(range.last >= range.first);
        CHECK((range.columns == 0 || range.columns == 2));
        last = range.last;
    }
    CHECK_EQ(unicode::width_of(0x10FFFF), 1);
    CHECK_EQ(columns_of("a\u732Be\u0301\xFF"), 5);
}

TEST_CASE("text view: tokens as labels") {
    CHECK_EQ(label_of(" robot", 16), " robot");
    CHECK_EQ(label_of(" ", 16), "_");
    CHECK_EQ(label_of("", 16), "");
    CHECK_EQ(label_of("a\n\xE7\x8C", 16), "a\\n\\xE7\\x8C");
    CHECK_EQ(label_of("\u0301", 16), "\u25CC\u0301");
    CHECK_EQ(label_of("e\u0301\u200B", 16), "e\u0301\\u{200B}");
    CHECK_EQ(label_of("abcdef", 6), "abcdef");
    CHECK_EQ(label_of("abcdefg", 6), "abcd..");
    CHECK_EQ(label_of("\u732B\u732B\u732B\u732B", 7), "\u732B\u732B..");
    CHECK_EQ(padded("\u732B", 4), "\u732B  ");
    CHECK_EQ(padded("\u732B", 4, true), "  \u732B");
    CHECK_EQ(padded("long", 2), "long");
}

TEST_CASE("text plot: a small one, word for word") {
    const TextCurve loss{"loss", {0, 10, 20, 30, 40}, {4, 2, 1, 0.5, 0.5}};
    const TextCurve validation{"validation loss", {20, 40}, {1.5, 1}};
    CHECK_EQ(text_plot({loss, validation}, {.width = 30, .height = 9, .x_label = "step"}),
             "4 +*\n"
             "  |\n"
             "3 +\n"
             "  |\n"
             "2 +       *\n"
             "  |             o\n"
             "1 +             *            o\n"
             "  |                    *     *\n"
             "0 +\n"
             "  ++------------+------------+\n"
             "   0           20           40\n"
             "* loss  o validation loss\n"
             "by step\n");
}

TEST_CASE("text plot: no curve is drawn with a sign of the axes") {
    std::vector<TextCurve> curves;
    for (int i = 0; i < 9; ++i) {
        curves.push_back({fmt::format("curve{}", i), {0, 1}, {1.0 * i, 2.0 * i}});
    }
    const std::string text = text_plot(curves, {.width = 80});
    for (int i = 0; i < 9; ++i) {
        const std::size_t name = text.find(fmt::format("curve{}", i));
        REQUIRE_GE(name, 2);
        CHECK_EQ(std::string("+-|").find(text[name - 2]), std::string::npos);
    }
}

TEST_CASE("text plot: logarithms, gaps, and the mean of what falls in one column") {
    const TextCurve gaps{"gaps", {0, 1, 2, 3, 4, 5}, {1, 100, kNan, 10, kInfinity, 0.1}};
    CHECK_EQ(text_plot({gaps}, {.width = 28, .height = 7, .log_y = true}),
             "100 +    *\n"
             "    |\n"
             " 10 +             *\n"
             "    |\n"
             "  1 +*\n"
             "    |\n"
             "0.1 +                      *\n"
             "    ++--------+--------+----\n"
             "     0        2        4\n"
             "* gaps\n");
    // With log_y, zeros and negative values are not drawn; otherwise everything is.
    const TextCurve mixed{"mixed", {0, 1, 2}, {-1, 0, 1}};
    const auto count = [](const std::string& text) {
        return std::count(text.begin(), text.end(), '*');
    };
    CHECK_EQ(count(text_plot({mixed}, {.log_y = true})), 2);  // one is in the legend
    CHECK_EQ(count(text_plot({mixed})), 4);

    TextCurve many{"many"};
    for (int i = 0; i < 10000; ++i) {
        many.x.push_back(i / 2);
        many.y.push_back(i % 2 == 0 ? 0 : 2);
    }
    const auto lines = lines_of(text_plot({many}, {.width = 43, .height = 5}));
    CHECK_EQ(lines[2], "1.0 +" + std::string(38, '*'));
}

TEST_CASE("text plot: axes of one point, of large, small and negative numbers") {
    const auto labels = [](double from, double to, bool log = false) {
        std::vector<std::string> found;
        const TextCurve curve{"y", {0, 1}, {from, to}};
        for (const auto& line : lines_of(text_plot({curve}, {.height = 8, .log_y = log}))) {
            const auto end = line.find(" +");
            if (end != std::string::npos && line.find("+-") == std::string::npos) {
                found.push_back(
                    line.substr(line.find_first_not_of(' '), end - line.find_first_not_of(' ')));
            }
        }
        return found;
    };
    using Labels = std::vector<std::string>;
    CHECK_EQ(labels(0, 1), Labels{"1.0", "0.5", "0.0"});
    CHECK_EQ(labels(-0.002, 0.003), Labels{"0.004", "0.002", "0.000", "-0.002"});
    CHECK_EQ(labels(3, 3), Labels{"3.5", "3.0", "2.5"});
    CHECK_EQ(labels(0, 0), Labels{"1", "0", "-1"});
    CHECK_EQ(labels(0, 3e9), Labels{"3e+09", "2e+09", "1e+09", "0"});
    CHECK_EQ(labels(1e7, 1.00001e7), Labels{"1.00001e+07", "1.000005e+07", "1e+07"});
    CHECK_EQ(labels(0.57, 4.01, true), Labels{"5", "2", "1", "0.5"});
    CHECK_EQ(labels(2e-5, 3, true), Labels{"100", "1", "0.01", "0.0001", "1e-06"});
}

TEST_CASE("text plot: ticks are equally many rows apart, and a line has no holes") {
    for (const auto& [low, high] : {std::pair{1.3, 4.2}, {0.0, 17.3}, {2.01, 2.09}, {3.2, 4.1}}) {
        for (const int height : {8, 16, 23}) {
            TextCurve curve{"loss"};
            for (int i = 0; i < 60; ++i) {
                curve.x.push_back(i);
                curve.y.push_back(low + (high - low) * std::exp(-0.1 * i));
            }
            const auto lines = lines_of(text_plot({curve}, {.width = 80, .height = height}));
            std::vector<int> ticks;
            std::set<std::size_t> drawn;
            for (int row = 0; row < height; ++row) {
                const std::string& line = lines[static_cast<std::size_t>(row)];
                const std::size_t axis = line.find_first_of("+|");
                if (line[axis] == '+') ticks.push_back(row);
                for (std::size_t at = axis + 1; at < line.size(); ++at) {
                    if (line[at] == '*') drawn.insert(at);
                }
            }
            REQUIRE(ticks.size() >= 2);
            for (std::size_t i = 1; i < ticks.size(); ++i) {
                CHECK_EQ(ticks[i] - ticks[i - 1], ticks[1] - ticks[0]);
            }
            CHECK_EQ(ticks.back(), height - 1);
            CHECK_EQ(drawn.size(), *drawn.rbegin() - *drawn.begin() + 1);
        }
    }
}

TEST_CASE("text plot: what is refused") {
    const TextCurve good{"good", {1, 2}, {1, 2}};
    check_message<ValueError>([&] { text_plot({good}, {.width = 20}); },
                              "text_plot: needs at least 24 columns and 4 rows, got 20 and 16");
    check_message<ValueError>([&] { text_plot({good}, {.height = 3}); }, "got 80 and 3");
    check_message<ValueError>([] { text_plot({{"odd", {1, 2}, {1}}}); }, "'odd' has 2 x and 1 y");
    check_message<ValueError>([] { text_plot({{"x", {1, kNan}, {1, 2}}}); }, "x 1 of 'x' is nan");
    check_message<ValueError>([] { text_plot({}); }, "no point can be drawn");
    check_message<ValueError>(
        [] {
            text_plot({{"none", {1, 2}, {kNan, kInfinity}}});
        },
        "no point can be drawn");
    check_message<ValueError>([&] { text_plot(std::vector<TextCurve>(35, good)); },
                              "35 curves; there are marks for 34");
    const TextCurve wide{"wide", {0, 1}, {1.23456789e-200, 1.23456799e-200}};
    check_message<ValueError>([&] { text_plot({wide}, {.width = 24}); }, "no room for curves");
    text_plot(std::vector<TextCurve>(34, good));
    check_message<ValueError>(
        [] {
            text_plot({{"x", {-1e308, 1e308}, {1, 2}}});
        },
        "text_plot: -1e+308 and 1e+308 are too far apart");
    check_message<ValueError>([] { text_plot({{"y", {0, 1}, {-1e308, 1e308}}}); }, "too far apart");
    // The mean of a column.
    const TextCurve mean{"mean", {0, 0, 1}, {1.7e308, 1.7e308, 1}};
    check_message<ValueError>([&] { text_plot({mean}); }, "too far apart");
}

TEST_CASE("text plot: numbers that lose their digits") {
    for (const double tiny : {5e-324, 1e-310, 1e-301, 3e-300}) {
        CAPTURE(tiny);
        for (const auto& y : {std::vector{tiny, 0.}, {0., -tiny}, {tiny, tiny}, {tiny, 2 * tiny}}) {
            for (const bool log : {false, true}) {
                if (log && !(y[0] > 0)) continue;
                CHECK_EQ(lines_of(text_plot({{"y", {0, 1}, y}}, {.log_y = log})).size(), 19);
            }
        }
        CHECK_EQ(lines_of(text_plot({{"x", {0, tiny}, {1, 2}}})).size(), 19);
    }
}

TEST_CASE("text map: words, ideographs and what cannot be seen, word for word") {
    const Tensor weights = tensor<float>({{1, 0, 0, 0, 0},
                                          {0.5f, 0.5f, 0, 0, 0},
                                          {0.2f, 0.2f, 0.6f, 0, 0},
                                          {0.05f, 0.85f, 0.05f, 0.05f, 0},
                                          {0.2f, 0.2f, 0.2f, 0.2f, 0.2f}});
    const std::vector<std::string> tokens{"\u732B", "\u5750", "e\u0301", "\n", " robot"};
    CHECK_EQ(text_map(weights, tokens, tokens),
             "                r\n"
             "                o\n"
             "                b\n"
             "                o\n"
             "        \u732B\u5750e\u0301 \\nt\n"
             "    \u732B |@@        |\n"
             "    \u5750 |####      |\n"
             "     e\u0301 |====##    |\n"
             "    \\n |::@@::::  |\n"
             " robot |==========|\n");
    CHECK_EQ(text_map(slice(weights, 0, 0, 2), {}, {}, {.shades = " \u2591\u2593"}),
             "   0 1 2 3 4\n"
             "0 |\u2593\u2593        |\n"
             "1 |\u2593\u2593\u2593\u2593      |\n");
}

TEST_CASE("text map: NaN, wide maps in pieces, long tokens") {
    const Tensor some = tensor<float>({{0.3f, std::nanf(""), 2, -1}});
    CHECK_EQ(text_map(some, {"q"}), "   0 1 2 3\nq |++??@@  |\n");
    const Tensor wide = full({1, 12}, 0.04);
    CHECK_EQ(text_map(wide, {"a long query's name"}, {}, {.width = 30}),
             "                 0 1 2 3 4 5\n"
             "a long query'.. |::::::::::::|\n"
             "\n"
             "                         1 1\n"
             "                 6 7 8 9 0 1\n"
             "a long query'.. |::::::::::::|\n");
    const auto lines = lines_of(text_map(full({1, 1}, 0.5), {"q"}, {"internationalisation"}));
    CHECK_EQ(lines.size(), 9);
    CHECK_EQ(lines[0], "   i");
    CHECK_EQ(lines[7], "   ..");
    CHECK_EQ(shades_legend({.shades = " .:@"}), ". 0.06  : 0.25  @ 0.56");
}

TEST_CASE("text map: all heads, small, side by side") {
    AttentionTrace four = looking_at({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, 2);
    CHECK_EQ(text_heads(four, {.width = 50}),
             "0: 0.50 nats  1: 0.50 nats  2: 0.50 nats\n"
             "|@@  |        |@@  |        |  @@|\n"
             "|@@  |        |  @@|        |@@  |\n"
             "\n"
             "3: 0.50 nats\n"
             "|  @@|\n"
             "|  @@|\n");
    CHECK_EQ(text_map(four, 2), "   0 1\n0 |  @@|\n1 |@@  |\n");
    // Twelve queries in six rows, twelve keys in six columns: a line one key wide stays visible.
    std::vector<int> before;
    for (int i = 0; i < 12; ++i) before.push_back(std::max(0, i - 1));
    CHECK_EQ(text_heads(looking_at({before}, 12), {.cells = 6}),
             "0: 0.50 nats\n"
             "|@@          |\n"
             "|@@@@        |\n"
             "|  @@@@      |\n"
             "|    @@@@    |\n"
             "|      @@@@  |\n"
             "|        @@@@|\n");
}

TEST_CASE("text map: what is refused") {
    const Tensor weights = ones({2, 3});
    check_message<ShapeError>([] { text_map(ones({2})); }, "text_map: needs weights [T, S]");
    check_message<ShapeError>([&] { text_map(weights, {"a"}); }, "1 tokens for 2 queries");
    check_message<ShapeError>([&] { text_map(weights, {}, {"a", "b"}); }, "2 tokens for 3 keys");
    check_message<ValueError>([&] { text_map(weights, {}, {}, {.width = 19}); },
                              "at least 20 columns, got 19");
    check_message<ValueError>([&] { text_map(weights, {}, {}, {.shades = "@"}); }, "shades '@'");
    check_message<ValueError>([&] { text_map(weights, {}, {}, {.shades = " \u732B"}); }, "shades");
    check_message<ValueError>([&] { text_map(weights, {}, {}, {.shades = " \xFF"}); }, "shades");
    const AttentionTrace a = looking_at({{0, 0}, {0, 1}}, 2);
    check_message<IndexError>([&] { text_map(a, 2); }, "head 2; block.attention has 2, 0 to 1");
    check_message<IndexError>([&] { text_map(a, -1); }, "head -1");
    check_message<ValueError>([&] { text_heads(a, {.cells = 0}); }, "maps of 0 cells");
}

TEST_CASE("text tape: what an Inspector saw, with times in ms") {
    const Weights model;
    Inspector inspector(model);
    {
        Tape tape;
        const Tensor loss = sum(model.w * model.w);
        const Tensor idle = model.w + 1.0;
        tape.backward(loss);
        inspector.finish();
    }
    const auto lines = lines_of(text_tape(inspector));  // the times may be anything
    REQUIRE_EQ(lines.size(), 5);
    CHECK(lines[0].starts_with("3 entries, 24 B kept for backward; "));
    CHECK(lines[0].ends_with(" ms backward"));
    CHECK_EQ(lines[1],
             "#  op              module  inputs -> outputs             kept  forward  backward");
    CHECK(lines[2].starts_with("0  mul                     leaf [3], leaf [3] -> [3]     24 B  "));
    CHECK(lines[3].starts_with("1  sum (axes=[0])          #0 [3] -> []                   0 B  "));
    CHECK(lines[4].starts_with("2  add                     leaf [3], constant [] -> [3]   0 B  "));
    CHECK(lines[4].ends_with("         -"));
}

TEST_CASE("text step: a step without attention, watched") {
    Weights model;
    model.train();
    const WatchedStep step(model, [&] { return sum(model.w * model.w); });
    CHECK_EQ(step.loss(), 14);
    CHECK_EQ(step.heads(), 0);
    CHECK_EQ(model.w.to_vector<float>(), std::vector<float>{1, -2, 3});  // nothing was updated
    const std::string text =
        text_step(step.inspector(), {.title = "One step", .subtitle = "of three weights"});
    CHECK(text.starts_with("One step\nof three weights\n\n2 entries, 24 B kept"));
    CHECK(text.ends_with("no attention on the tape as one operation\n"));
    check_message<ValueError>([&] { text_step(step.inspector(), {}, {.layer = 0, .head = 0}); },
                              "there is no layer 0 of attention; there are 0");
}

TEST_CASE("text step: all heads, or one of them large") {
    Generator generator(1);
    MultiHeadAttention model({.dim = 8, .heads = 2}, generator);
    const Tensor x = randn({1, 3, 8}, generator);
    const WatchedStep step(model, [&] { return sum(model(x)); });
    CHECK_EQ(step.heads(), 2);
    const PageOptions page{.title = "T", .texts = {{.queries = {"a", "b", "c"}}}};
    const std::string all = text_step(step.inspector(), page);
    CHECK(all.find("layer 0: ") != std::string::npos);
    CHECK(all.find(" self-attention, 3 queries, 3 keys\n") != std::string::npos);
    CHECK(all.find("weights from ") != std::string::npos);
    const std::string one = text_step(step.inspector(), page, {.layer = 0, .head = 1});
    CHECK(one.find("layer 0, head 1: ") != std::string::npos);
    CHECK(one.find(" nats of entropy, looks ") != std::string::npos);
    check_message<ValueError>([&] { text_step(step.inspector(), page, {.layer = 0, .head = 2}); },
                              "layer 0 has no head 2; it has 2");
    const Tensor single = randn({1, 1, 8}, generator);
    const WatchedStep on_one(model, [&] { return sum(model(single)); });
    CHECK(text_step(on_one.inspector(), page).find(" self-attention, 1 query, 1 key\n") !=
          std::string::npos);
}
