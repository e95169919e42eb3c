// Chapter 8: a network unrolled, a cell with gates, the bottleneck and its cure. Read course.h
// first.
#include <tapestry/examples/school/pictures/course.h>

namespace tapestry::pictures {
namespace {

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
    Drawing d({640, 300}, {"The bottleneck, and Bahdanau's cure", "瓶颈，和 Bahdanau 的药方"},
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

}  // namespace

std::vector<Picture> recurrent_pictures() {
    return {{"rnn", rnn}, {"lstm", lstm}, {"bottleneck", bottleneck}};
}

}  // namespace tapestry::pictures
