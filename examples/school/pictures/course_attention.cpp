// Chapters 9 to 11: one head, masks in time, many heads, clocks. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tapestry::pictures {
namespace {

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
    return {{"one-head", one_head}, {"heads", heads}, {"clock", clock}};
}

}  // namespace tapestry::pictures
