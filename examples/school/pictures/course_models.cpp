// Chapters 14 and 15: who may look where, another order of products, what losses look like. Read
// course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tapestry::pictures {
namespace {

// Chapter 14: one layer, four masks. Rows ask, columns are looked at.
Drawing masks(Language language) {
    Drawing d({680, 226},
              {"One layer, four masks: who may look where", "一种层，四种掩码：谁可以看哪里"},
              language);
    constexpr double cell = 13;
    struct Mask {
        Words name, note;
        int columns;
        std::function<int(int, int)> colour;  // of row and column; -1: hidden
    };
    const Mask all[] = {
        {"GPT", {"the past", "只看过去"}, 8, [](int r, int c) { return c <= r ? kBlue : -1; }},
        {"BERT, ViT", {"everything", "全都看"}, 8, [](int, int) { return kBlue; }},
        {{"a translator's decoder", "翻译机的解码器"},
         {"all of the source, and its own past", "全部源文本，和自己的过去"},
         14,
         [](int r, int c) { return c < 6 ? kPink : (c - 6 <= r ? kBlue : -1); }},
        {{"a window of 3", "宽 3 的窗口"}, {"what is near", "只看近处"}, 8, [](int r, int c) {
             return c <= r && c > r - 3 ? kBlue : -1;
         }}};
    double x = 36;
    for (const Mask& mask : all) {
        for (int r = 0; r < 8; ++r) {
            for (int c = 0; c < mask.columns; ++c) {
                const int colour = mask.colour(r, c);
                d.bar({x + c * cell, 66 + r * cell, cell - 1, cell - 1}, colour < 0 ? kInk : colour,
                      colour < 0 ? 0.12 : 0.7);
            }
        }
        const double middle = x + mask.columns * cell / 2;
        d.text({middle, 50}, mask.name, {.bold = true});
        d.text({middle, 192}, mask.note, {.size = 11});
        x += mask.columns * cell + 36;
    }
    d.text({340, 212},
           {"a row for each position that asks, a column for each that may be read",
            "一行是一个在问的位置，一列是一个被看的位置"},
           {.size = 11});
    return d;
}

// A product of tables, by their sizes.
void sized(Drawing& d, Point middle, double width, double height, const Words& name, int colour) {
    d.box({middle.x - width / 2, middle.y - height / 2, width, height}, name, colour);
}

Drawing linear_attention(Language language) {
    Drawing d({680, 300}, {"The order of a product decides what it costs", "相乘的次序决定花多少"},
              language);
    constexpr double n = 84, f = 30;
    d.text({60, 92}, {"softmax", "softmax"}, {.bold = true});
    sized(d, {150, 92}, f, n, "Q", kBlue), sized(d, {220, 92}, n, f, "Kᵀ", kBlue);
    d.text({286, 92}, "→", {.size = 16});
    sized(d, {350, 92}, n, n, "n × n", kOrange);
    d.text({413, 92}, "·", {.size = 18});
    sized(d, {446, 92}, f, n, "V", kGreen);
    d.text({486, 92}, "→", {.size = 16});
    sized(d, {526, 92}, f, n, "Y", kInk);
    d.text({610, 92}, {"work n² d", "活：n² d"});
    d.text({56, 222}, {"linear", "线性"}, {.bold = true});
    sized(d, {160, 222}, n, f, "φ(K)ᵀ", kBlue), sized(d, {226, 222}, f, n, "V", kGreen);
    d.text({264, 222}, "→", {.size = 16});
    sized(d, {306, 222}, f + 16, f, "f × d", kOrange);
    d.text({346, 222}, "→", {.size = 16});
    sized(d, {392, 222}, f + 16, n, "φ(Q)", kBlue),
        sized(d, {446, 222}, f + 16, f, "f × d", kOrange);
    d.text({486, 222}, "→", {.size = 16});
    sized(d, {526, 222}, f, n, "Y", kInk);
    d.text({610, 222}, {"work n f d", "活：n f d"});
    d.text({340, 284},
           {"the softmax between Q Kᵀ and V sees whole rows of scores; φ sees one vector at a time",
            "Q Kᵀ 和 V 之间隔着 softmax，它要看得分的整行；φ 一次只看一个向量"},
           {.size = 11});
    return d;
}

// Chapter 15: what a curve says.
Drawing losses(Language language) {
    Drawing d({680, 330}, {"What a loss looks like", "损失看起来是什么样"}, language);
    struct Sketch {
        Words name;
        std::function<double(double)> training, validation;  // from 0 to 1, of 0 to 1
    };
    const auto fall = [](double t) { return 0.08 + 0.85 * std::exp(-5 * t); };
    const Sketch sketches[] = {
        {{"healthy", "健康"}, fall, [](double t) { return 0.16 + 0.78 * std::exp(-5 * t); }},
        {{"learning by heart", "死记硬背"},
         [](double t) { return 0.02 + 0.9 * std::exp(-6 * t); },
         [](double t) { return 0.2 + 0.73 * std::exp(-7 * t) + 0.5 * t * t; }},
        {{"rate too high", "学习率太大"},
         [](double t) {
             return t < 0.62 ? 0.5 + 0.4 * std::exp(-4 * t) - 0.3 * t + 0.06 * std::sin(60 * t)
                             : std::min(1.0, 0.35 + 4 * (t - 0.62));
         },
         {}},
        {{"rate too low", "学习率太小"}, [](double t) { return 0.95 - 0.22 * t; }, {}},
        {{"zero__grad forgotten", "忘了 zero__grad"},
         [](double t) {
             return 0.55 + 0.35 * std::exp(-3 * t) * std::cos(14 * t) + 0.1 * std::sin(23 * t);
         },
         {}},
        {{"too good to be true", "好得不像真的"},
         [](double t) { return 0.01 + 0.94 * std::exp(-22 * t); },
         {}}};
    for (int i = 0; i < 6; ++i) {
        const Point origin{40 + 218.0 * (i % 3), 146 + 142.0 * (i / 3)};
        const auto draw = [&](const std::function<double(double)>& f, const LineStyle& style) {
            std::vector<Point> way;
            for (int t = 0; t <= 60; ++t)
                way.push_back(origin + Point{170 * t / 60.0, -92 * f(t / 60.0)});
            d.line(way, style);
        };
        d.arrow({origin, origin + Point{180, 0}}), d.arrow({origin, origin + Point{0, -98}});
        draw(sketches[i].training, {.colour = kBlue});
        if (sketches[i].validation)
            draw(sketches[i].validation, {.colour = kOrange, .dashed = true});
        d.text(origin + Point{88, 16}, sketches[i].name);
    }
    d.text({664, 18},
           {"solid: training; dashed: validation; across: steps",
            "实线：训练；虚线：验证；横轴：步数"},
           {.anchor = "end", .size = 11});
    return d;
}

}  // namespace

std::vector<Picture> model_pictures() {
    return {{"masks", masks}, {"linear-attention", linear_attention}, {"losses", losses}};
}

}  // namespace tapestry::pictures
