// Chapters 12 to 15: a layer, LayerNorm, encoder and decoder, a model that writes, beams; who may
// look where, another order of products, what losses look like. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tapestry::pictures {
namespace {

// A layer with the norm first, lying on its side.
Drawing layer(Language language) {
    Drawing d({680, 170}, {"One layer, norm first", "一层，前置归一化"}, language);
    d.text({24, 60}, "x");
    d.arrow({{34, 60}, {306, 60}}, {.colour = kBlue});
    d.circle({320, 60}, 12, "+", kBlue);
    d.arrow({{332, 60}, {614, 60}}, {.colour = kBlue});
    d.circle({628, 60}, 12, "+", kBlue);
    d.arrow({{640, 60}, {662, 60}}, {.colour = kBlue});
    d.text({670, 60}, "y");
    const auto branch = [&](double from, double to, const Words& work, int colour) {
        const Rect norm = d.box({from + 24, 96, 76, 34}, {"LayerNorm", "LayerNorm"});
        const Rect f = d.box({from + 124, 96, 106, 34}, work, colour);
        d.arrow({{from, 60}, {from, 113}, norm.left()});
        d.arrow({norm.right(), f.left()});
        d.arrow({f.right(), {to, 113}, {to, 72}});
    };
    branch(66, 320, {"attention", "注意力"}, kOrange);
    branch(374, 628, {"feed-forward", "前馈网络"}, kGreen);
    d.text({190, 44}, {"the residual stream: nothing in its way", "残差流：一路无阻"},
           {.size = 11});
    d.text({219, 150}, {"between positions", "位置之间"}, {.size = 11});
    d.text({527, 150}, {"within each position", "位置之内"}, {.size = 11});
    return d;
}

Drawing layer_norm(Language language) {
    Drawing d({680, 250},
              {"LayerNorm: what it takes away, there and back", "LayerNorm：去和回各去掉什么"},
              language);
    const auto bars = [&](Point floor, const std::vector<double>& heights, int colour) {
        for (std::size_t i = 0; i < heights.size(); ++i) {
            const double h = heights[i];
            d.bar({floor.x + 22 * static_cast<double>(i), h > 0 ? floor.y - h : floor.y, 16,
                   std::abs(h)},
                  colour);
        }
        d.line({floor + Point{-8, 0}, floor + Point{90, 0}});
    };
    // 5, 7, 3, 9 of mean 6 and standard deviation 2.24
    bars({40, 122}, {35, 49, 21, 63}, kBlue);
    d.text({81, 138}, "x = 5, 7, 3, 9");
    bars({280, 106}, {-7, 7, -21, 21}, kBlue);
    d.text({321, 138}, "x - μ = -1, 1, -3, 3");
    bars({520, 100}, {-9, 9, -27, 27}, kBlue);
    d.text({561, 138}, "u = -.45, .45, -1.34, 1.34");
    d.arrow({{146, 90}, {252, 90}}), d.arrow({{386, 90}, {492, 90}});
    d.text({199, 74}, {"minus mean 6", "减去均值 6"}, {.size = 11});
    d.text({439, 74}, {"by σ = 2.24", "除以 σ = 2.24"}, {.size = 11});
    const Rect back = d.box({500, 182, 122, 36}, {"gradient h of u", "u 的梯度 h"}, kOrange);
    const Rect middle =
        d.box({240, 182, 162, 36},
              {"minus its mean,\nminus its part along u", "去掉均值，\n去掉沿 u 的那份"}, kOrange,
              {.size = 11});
    const Rect first = d.box({30, 182, 122, 36}, {"gradient of x", "x 的梯度"}, kOrange);
    d.arrow({back.left(), middle.right()}, {.colour = kOrange});
    d.arrow({middle.left(), first.right()}, {.colour = kOrange});
    d.text({196, 188}, "/ σ");
    d.text({340, 238},
           {"shifting or stretching x does not change u, so no gradient points there",
            "平移或拉伸 x，u 都不变，所以梯度不指那两个方向"},
           {.size = 11});
    return d;
}

// A tower of boxes from the bottom up, joined by arrows; their places.
std::vector<Rect> tower(Drawing& d, double x, double bottom,
                        const std::vector<std::pair<Words, int>>& floors) {
    std::vector<Rect> places;
    for (const auto& [words, colour] : floors) {
        bottom -= 34;
        places.push_back(d.box({x, bottom, 170, 34}, words, colour));
        if (places.size() > 1) d.arrow({places[places.size() - 2].top(), places.back().bottom()});
        bottom -= 20;
    }
    return places;
}

Drawing transformer(Language language) {
    Drawing d({640, 452}, {"The Transformer: encoder and decoder", "Transformer：编码器和解码器"},
              language);
    d.text({145, 432}, {"source tokens", "源词元"});
    d.text({455, 432}, {"target, so far", "目标，已写的部分"});
    const auto encoder = tower(d, 60, 416,
                               {{{"embedding + positions", "嵌入 + 位置"}, kInk},
                                {{"self-attention", "自注意力"}, kOrange},
                                {{"feed-forward", "前馈网络"}, kGreen}});
    const auto decoder = tower(d, 370, 416,
                               {{{"embedding + positions", "嵌入 + 位置"}, kInk},
                                {{"causal self-attention", "因果自注意力"}, kOrange},
                                {{"cross-attention", "交叉注意力"}, kPink},
                                {{"feed-forward", "前馈网络"}, kGreen},
                                {{"linear head", "线性头"}, kInk},
                                {{"softmax", "softmax"}, kInk}});
    d.arrow({{145, 424}, encoder[0].bottom()}), d.arrow({{455, 424}, decoder[0].bottom()});
    d.arrow({decoder[5].top(), {455, 88}});
    d.text({455, 78}, {"probabilities of the next token", "下一个词元的概率"});
    const Rect around{44, encoder[2].y - 12, 202, 112}, beside{354, decoder[3].y - 12, 202, 166};
    for (const Rect& frame : {around, beside}) {
        d.line({frame.top(0), frame.top(1), frame.bottom(1), frame.bottom(0), frame.top(0)},
               {.dashed = true});
    }
    d.text({24, 316}, {"6 ×", "6 ×"}), d.text({584, 290}, {"6 ×", "6 ×"});
    d.arrow({encoder[2].top(), {145, 238}});
    const Rect memory =
        d.box({60, 204, 170, 34}, {"memory: a vector each", "记忆：每个词元一个向量"}, kBlue);
    d.arrow({memory.right(), {300, 221}, {300, decoder[2].centre().y}, decoder[2].left()},
            {.colour = kBlue});
    d.text({300, 196}, {"keys, values", "键和值"}, {.size = 11});
    d.text(
        {145, 148},
        {"every box within a frame:\nx + f(x), and a norm", "框里每一块：\nx + f(x)，再加归一化"},
        {.size = 11});
    return d;
}

Drawing writing(Language language) {
    Drawing d({680, 250}, {"A GPT that writes", "会写的 GPT"}, language);
    const Rect text = d.box({20, 50, 120, 40}, {"\"the cat s\"", "“the cat s”"});
    const Rect ids =
        d.box({194, 50, 104, 40}, {"ids\n20 8 5 0 ...", "编号\n20 8 5 0 ..."}, kInk, {.size = 11});
    const Rect vectors =
        d.box({352, 50, 124, 40}, {"embedding,\npositions", "嵌入，\n位置"}, kBlue);
    const Rect layers =
        d.box({530, 50, 120, 40}, {"layers, with a\ncausal mask", "若干层，\n因果掩码"}, kOrange);
    const Rect head = d.box({530, 150, 120, 40}, {"linear head", "线性头"}, kBlue);
    const Rect scores =
        d.box({370, 150, 116, 40}, {"scores of all\ntokens", "所有词元的得分"}, kInk, {.size = 11});
    const Rect shares =
        d.box({196, 150, 128, 40}, {"probabilities\ne .90, i .06, ...", "概率\ne .90, i .06, ..."},
              kGreen, {.size = 11});
    const Rect drawn =
        d.box({20, 150, 120, 40}, {"one is drawn:\n\"e\"", "抽出一个：\n“e”"}, kGreen);
    d.arrow({text.right(), ids.left()}), d.arrow({ids.right(), vectors.left()});
    d.arrow({vectors.right(), layers.left()}), d.arrow({layers.bottom(), head.top()});
    d.arrow({head.left(), scores.right()}), d.arrow({scores.left(), shares.right()});
    d.arrow({shares.left(), drawn.right()}),
        d.arrow({drawn.top(), text.bottom()}, {.colour = kGreen});
    d.text({167, 40}, {"tokenizer", "分词器"}, {.size = 11});
    d.text({347, 206}, {"softmax, temperature", "softmax，温度"}, {.size = 11});
    d.text({88, 120}, {"put behind the text, and round again", "接在文本后面，再来一圈"},
           {.anchor = "start", .size = 11});
    d.text({340, 234},
           {"only the last position decides; the cache keeps what the others computed",
            "只有最后一个位置作决定；别的位置算过的，缓存都留着"},
           {.size = 11});
    return d;
}

Drawing beams(Language language) {
    Drawing d({640, 236}, {"Two beams find what one misses", "两束找得到一束错过的"}, language);
    const Rect begin = d.box({20, 104, 70, 34}, "begin");
    const Rect a = d.box({200, 50, 90, 34}, "a: .50", kBlue);
    const Rect the = d.box({200, 130, 90, 34}, "the: .40", kOrange);
    const Rect no = d.box({200, 190, 90, 34}, "no: .10");
    d.arrow({begin.right(), a.left()}, {.colour = kBlue});
    d.arrow({begin.right(), the.left()}, {.colour = kOrange});
    d.arrow({begin.right(), no.left()}, {.dashed = true});
    const Rect a_dog = d.box({400, 46, 210, 30}, "a dog: .50 × .4 = .20", kBlue);
    const Rect a_end =
        d.box({400, 86, 210, 30}, {"a (end): .50 × .3 = .15", "a（完）：.50 × .3 = .15"});
    const Rect the_dog = d.box({400, 132, 210, 30}, "the dog: .40 × .9 = .36", kOrange);
    d.arrow({a.right(), a_dog.left()}, {.colour = kBlue});
    d.arrow({a.right(), a_end.left()}, {.dashed = true});
    d.arrow({the.right(), the_dog.left()}, {.colour = kOrange});
    d.text({460, 206},
           {"greedy goes by the first step: .50 before .40", "贪心只看第一步：.50 比 .40 大"},
           {.size = 11});
    return d;
}

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
        {{"a translator's decoder", "翻译模型的解码器"},
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
            "每行是一个查询的位置，每列是一个被看的位置"},
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
    d.text({610, 92}, {"work n² d", "计算量 n² d"});
    d.text({56, 222}, {"linear", "线性"}, {.bold = true});
    sized(d, {160, 222}, n, f, "φ(K)ᵀ", kBlue), sized(d, {226, 222}, f, n, "V", kGreen);
    d.text({264, 222}, "→", {.size = 16});
    sized(d, {306, 222}, f + 16, f, "f × d", kOrange);
    d.text({346, 222}, "→", {.size = 16});
    sized(d, {392, 222}, f + 16, n, "φ(Q)", kBlue),
        sized(d, {446, 222}, f + 16, f, "f × d", kOrange);
    d.text({486, 222}, "→", {.size = 16});
    sized(d, {526, 222}, f, n, "Y", kInk);
    d.text({610, 222}, {"work n f d", "计算量 n f d"});
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

std::vector<Picture> transformer_pictures() {
    return {{"layer", layer},
            {"layer-norm", layer_norm},
            {"transformer", transformer},
            {"writing", writing},
            {"beams", beams},
            {"masks", masks},
            {"linear-attention", linear_attention},
            {"losses", losses}};
}

}  // namespace tapestry::pictures
