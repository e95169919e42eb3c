// Chapters 8 to 11: a network unrolled, a cell with gates, the bottleneck and its cure; one head,
// masks in time, many heads, clocks. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tapestry::pictures {
namespace {

// Chapter 8: a network unrolled.
Drawing rnn(Language language) {
    Drawing d(
        {640, 190},
        {"An RNN, unrolled: the same weights at every step", "展开的 RNN：每一步用同样的权重"},
        language);
    const Words words[] = {{"dog", "狗"}, {"bites", "咬"}, {"man", "人"}};
    d.text({30, 80}, "h_0 = 0");
    double from = 56;
    for (int t = 0; t < 3; ++t) {
        const double x = 110 + 160 * t;
        const std::string i = std::to_string(t + 1);
        const Rect cell = d.box({x, 60, 90, 40}, "tanh(...)", kBlue);
        d.arrow({{from, 80}, cell.left()});
        d.arrow({{x + 45, 148}, cell.bottom()}, {.colour = kGreen});
        d.text({x + 45, 158}, words[t]);
        d.text({x + 30, 124}, "x_" + i);
        if (t < 2) d.text({x + 124, 68}, "h_" + i);
        from = x + 90;
    }
    d.arrow({{from, 80}, {560, 80}});
    d.text({564, 80}, "h_3", {.anchor = "start"});
    d.text({574, 104}, {"all it\nremembers", "记住的\n全在这里"}, {.size = 11});
    return d;
}

Drawing lstm(Language language) {
    Drawing d({640, 282},
              {"An LSTM: the cell is kept, and changed with care", "LSTM：单元一直留着，小心地改"},
              language);
    d.text({48, 70}, "c_{t-1}"), d.text({596, 70}, "c_t");
    d.arrow({{72, 70}, {186, 70}}, {.colour = kOrange});
    d.circle({200, 70}, 13, "×", kOrange);
    d.arrow({{214, 70}, {306, 70}}, {.colour = kOrange});
    d.circle({320, 70}, 13, "+", kOrange);
    d.arrow({{334, 70}, {580, 70}}, {.colour = kOrange});
    const Rect f = d.box({150, 170, 100, 40}, {"forget gate f", "遗忘门 f"}, kBlue);
    const Rect i = d.box({262, 170, 90, 40}, {"input gate i", "输入门 i"}, kBlue);
    const Rect g = d.box({364, 170, 100, 40}, {"candidate g", "候选 g"}, kGreen);
    const Rect o = d.box({476, 170, 100, 40}, {"output gate o", "输出门 o"}, kBlue);
    d.arrow({f.top(), {200, 84}}, {.colour = kBlue});
    d.circle({320, 122}, 13, "×", kGreen);
    d.arrow({{320, 108}, {320, 84}}, {.colour = kGreen});
    d.arrow({i.top(0.64), {320, 136}}, {.colour = kBlue});
    d.arrow({g.top(), {414, 122}, {334, 122}}, {.colour = kGreen});
    d.circle({526, 122}, 13, "×", kInk);
    d.arrow({{526, 71}, {526, 108}});
    d.text({536, 90}, "tanh", {.anchor = "start", .size = 11});
    d.arrow({o.top(), {526, 136}}, {.colour = kBlue});
    d.arrow({{540, 122}, {580, 122}});
    d.text({596, 122}, "h_t");
    d.text({84, 240}, {"x_t and h_{t-1}", "x_t 和 h_{t-1}"});
    for (const Rect& gate : {f, i, g, o})
        d.arrow({{140, 240}, {gate.bottom().x, 240}, gate.bottom()});
    d.text({320, 266}, {"along the cell: times f, plus something, and no matrix",
                        "沿着单元：乘 f，加一点，没有矩阵"});
    return d;
}

// Two rows of cells, source and target.
void sequences(Drawing& d, double y, bool attention) {
    const char* source[] = {"c", "a", "t"};
    const char* target[] = {"t", "a", "c"};
    double from = 0;
    std::vector<Rect> read, written;
    for (int t = 0; t < 3; ++t) {
        const Rect cell = d.box({40.0 + 70 * t, y, 36, 30}, "h_" + std::to_string(t + 1), kBlue);
        d.text({cell.centre().x, y + 58}, source[t]);
        d.arrow({{cell.centre().x, y + 50}, cell.bottom()});
        if (t > 0) d.arrow({{from, y + 15}, cell.left()});
        from = cell.x + 36;
        read.push_back(cell);
    }
    for (int t = 0; t < 3; ++t) {
        const Rect cell = d.box({400.0 + 70 * t, y, 36, 30}, "s_" + std::to_string(t + 1), kGreen);
        d.text({cell.centre().x, y + 58}, target[t]);
        d.arrow({cell.bottom(), {cell.centre().x, y + 50}});
        if (t > 0) d.arrow({{from, y + 15}, cell.left()});
        from = cell.x + 36;
        written.push_back(cell);
    }
    for (std::size_t t = 0; t < 3; ++t) {  // what it is given: what it wrote last
        const double from_x = t == 0 ? 376 : written[t - 1].centre().x + 9;
        const Point in = written[t].bottom(0.2);
        d.arrow({{from_x, y + 58}, {in.x, y + 58}, in}, {.dashed = true});
    }
    d.text({372, y + 58}, {"begin", "开始"}, {.anchor = "end"});
    d.arrow({read[2].right(), written[0].left()}, {.colour = attention ? kInk : kOrange});
    if (!attention) return;
    for (const Rect& h : read) {
        d.arrow({h.top(), {h.top().x, y - 22}, {written[1].top().x, y - 22}, written[1].top()},
                {.colour = kOrange});
    }
}

Drawing bottleneck(Language language) {
    Drawing d({640, 300}, {"The bottleneck, and Bahdanau's cure", "瓶颈，和 Bahdanau 的解法"},
              language);
    sequences(d, 56, false);
    d.text({308, 57}, {"one vector for everything", "一切都在一个向量里"});
    sequences(d, 206, true);
    d.text({320, 168}, {"before each word the decoder reads all states, each as much as its weight",
                        "每写一个词之前，解码器看所有的状态，各按各的权重"});
    d.text({128, 136}, {"the encoder reads", "编码器读"}, {.size = 11});
    d.text({488, 136}, {"the decoder writes", "解码器写"}, {.size = 11});
    return d;
}

// Chapter 9: what the query of "hit" does. The numbers are those of its program.
Drawing one_head(Language language) {
    Drawing d({700, 354},
              {"One head: what \"hit\" gets from the others", "一个头：“hit”从别的词那里得到什么"},
              language);
    const char* words[] = {"the", "robot", "hit", "the", "ball"};
    const char* scores[] = {"0", "3", "0.5", "0", "2"};
    const double weights[] = {0.032, 0.645, 0.053, 0.032, 0.237};
    const Rect query = d.box({20, 96, 86, 34}, "q = x W_Q", kOrange);
    d.text({63, 70}, {"\"hit\" asks", "“hit”在问"}, {.bold = true});
    const Rect y = d.box({20, 292, 86, 34}, "y", kOrange);
    d.text({144, 62}, {"words x", "词 x"}, {.size = 11});
    d.text({144, 113}, {"keys", "键"}, {.size = 11});
    d.text({144, 164}, {"scores", "得分"}, {.size = 11});
    d.text({144, 214}, {"weights", "权重"}, {.size = 11});
    d.text({144, 262}, {"values", "值"}, {.size = 11});
    for (int j = 0; j < 5; ++j) {
        const double x = 190 + 96 * j;
        const Rect word = d.box({x, 46, 76, 30}, words[j]);
        const Rect key = d.box({x, 98, 76, 30}, "k = x W_K", kBlue);
        d.arrow({word.bottom(), key.top()}, {.colour = kBlue});
        d.text({x + 38, 164}, fmt::format("q·k/√d = {}", scores[j]), {.size = 11});
        d.arrow({key.bottom(), {x + 38, 155}});
        d.arrow({{x + 38, 172}, {x + 38, 189}});
        d.bar({x, 194, 76, 40}, kOrange, 0.08);
        d.bar({x, 234 - 30 * weights[j], 76, 30 * weights[j]}, kOrange, 0.6);
        d.text({x + 38, 203}, fmt::format("{:.3f}", weights[j]), {.size = 11});
        const Rect value = d.box({x, 248, 76, 30}, "v = x W_V", kGreen);
        d.line({value.bottom(), {x + 38, 309}}, {.colour = kGreen});
    }
    d.line({query.right(), {122, 113}}, {.colour = kOrange});
    d.line({{122, 113}, {122, 140}, {612, 140}}, {.colour = kOrange, .dashed = true});
    d.arrow({{612, 309}, y.right()}, {.colour = kGreen});
    d.text({400, 326}, {"y = sum of weight times value: the mean, each as much as its weight",
                        "y = 权重乘值之和，也就是按权重取的平均"});
    d.text({656, 214}, "Σ = 1", {.anchor = "start", .size = 11});
    return d;
}

// Chapter 10: a wide vector in three narrow ones, and together again.
Drawing heads(Language language) {
    Drawing d({640, 282}, {"Three heads", "三个头"}, language);
    const int colours[] = {kBlue, kOrange, kGreen};
    const Rect x = d.box({20, 116, 76, 44}, "x\n[T, C]");
    const Rect qkv =
        d.box({130, 108, 90, 60}, {"W_Q, W_K, W_V\none product", "W_Q, W_K, W_V\n一次乘法"}, kInk,
              {.size = 11});
    d.arrow({x.right(), qkv.left()});
    for (int h = 0; h < 3; ++h) {
        const double y = 46 + 72 * h;
        const Rect cut = d.box({258, y, 66, 44}, "q k v\n[T, D]", colours[h]);
        const Rect head =
            d.box({352, y, 92, 44},
                  {"attention " + std::to_string(h), "注意力 " + std::to_string(h)}, colours[h]);
        d.arrow({qkv.right(0.25 + 0.25 * h), cut.left()}, {.colour = colours[h]});
        d.arrow({cut.right(), head.left()}, {.colour = colours[h]});
        d.bar({486, 88 + 34.0 * h, 40, 32}, colours[h]);
        d.arrow({head.right(), {484, 104 + 34.0 * h}}, {.colour = colours[h]});
    }
    const Rect out = d.box({560, 116, 60, 44}, "W_O\n[C, C]");
    d.arrow({{528, 138}, out.left()});
    d.arrow({out.bottom(), {590, 226}});
    d.text({590, 236}, "y [T, C]");
    d.text({505, 204}, {"side by side:\nC = 3 D", "并排放：\nC = 3 D"}, {.size = 11});
    d.text({320, 266}, {"the colours never meet before W_O: each head looks for itself",
                        "到 W_O 之前颜色互不相混：每个头各看各的"});
    return d;
}

// Chapter 11: five positions on a clock with two hands, theta_0 = 1 and theta_1 = 1/100.
Drawing clock(Language language) {
    Drawing d({640, 216}, {"Positions as the hands of a clock", "用钟的指针表示位置"}, language);
    const int positions[] = {0, 1, 2, 3, 44};
    for (int i = 0; i < 5; ++i) {
        const Point centre{76 + 122.0 * i, 106};
        d.circle(centre, 50, "");
        const auto hand = [&](double angle, double length, int colour) {
            d.arrow({centre, centre + Point{length * std::sin(angle), -length * std::cos(angle)}},
                    {.colour = colour});
        };
        hand(positions[i] / 100.0, 30, kOrange);
        hand(positions[i], 46, kBlue);
        d.text({centre.x, 172},
               {fmt::format("position {}", positions[i]), fmt::format("位置 {}", positions[i])});
    }
    d.text({320, 200}, {"long hand: 57° for each position; short hand: a hundredth of that, and it "
                        "tells 44 from 0",
                        "长针：每个位置转 57°；短针：百分之一，靠它分出 44 和 0"});
    return d;
}

}  // namespace

std::vector<Picture> attention_pictures() {
    return {{"rnn", rnn},           {"lstm", lstm},   {"bottleneck", bottleneck},
            {"one-head", one_head}, {"heads", heads}, {"clock", clock}};
}

}  // namespace tapestry::pictures
