// Chapters 5 to 7: strides, broadcasting, a product, softmax. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <cmath>

namespace tapestry::pictures {
namespace {

constexpr double kCell = 28;

// A table of numbers; `shown` says what stands in it.
template <class Shown>
Rect table(Drawing& d, Point corner, int rows, int columns, int colour, const Shown& shown,
           double cell = kCell) {
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            d.box({corner.x + c * cell, corner.y + r * cell, cell, cell}, shown(r, c), colour);
        }
    }
    return {corner.x, corner.y, columns * cell, rows * cell};
}

std::string digit(int n) { return std::to_string(n); }

// Chapter 5: one row of numbers, walked in two ways.
Drawing strides(Language language) {
    Drawing d({640, 280}, {"One row in memory, two tensors", "内存里的一行，两个张量"}, language);
    const Rect x = table(d, {60, 60}, 2, 3, kBlue, [](int r, int c) { return digit(3 * r + c); });
    d.text({102, 132}, {"x: shape [2, 3], strides [3, 1]", "x：形状 [2, 3]，步幅 [3, 1]"},
           {.size = 11});
    const Rect turned =
        table(d, {440, 46}, 3, 2, kGreen, [](int r, int c) { return digit(3 * c + r); });
    d.text({468, 146},
           {"its transpose: shape [3, 2], strides [1, 3]", "转置：形状 [3, 2]，步幅 [1, 3]"},
           {.size = 11});
    const Rect memory = table(d, {236, 190}, 1, 6, kInk, [](int, int c) { return digit(c); });
    d.text({190, 204}, {"memory", "内存"});
    d.arrow({{x.x + 42, 142}, {x.x + 42, 170}, {memory.x + 60, memory.y - 2}}, {.colour = kBlue});
    d.arrow({{turned.x + 28, 156}, {turned.x + 28, 170}, {memory.x + 108, memory.y - 2}},
            {.colour = kGreen});
    const auto step = [&](int from, int to, double depth, int colour, const Words& words) {
        const double a = memory.x + (from + 0.5) * kCell, b = memory.x + (to + 0.5) * kCell;
        d.arrow({{a, 220}, {a, 220 + depth}, {b, 220 + depth}, {b, 220}}, {.colour = colour});
        d.text({(a + b) / 2, 220 + depth + 11}, words, {.size = 11});
    };
    step(0, 3, 32, kBlue, {"next row of x: + 3", "x 的下一行：+ 3"});
    step(4, 5, 14, kBlue, "+ 1");
    return d;
}

// Chapter 5: repeated on the way there, summed on the way back.
Drawing broadcasting(Language language) {
    Drawing d({640, 216}, {"Broadcasting repeats; its gradient sums", "广播是重复，它的梯度是求和"},
              language);
    const auto tens = [](int r, int) { return digit(10 * (r + 1)); };
    table(d, {30, 50}, 4, 1, kBlue, tens);
    d.text({44, 176}, "[4, 1]");
    d.text({90, 106}, "+", {.size = 16});
    table(d, {120, 92}, 1, 3, kGreen, [](int, int c) { return digit(c + 1); });
    d.text({162, 176}, "[3]");
    d.text({234, 106}, "=", {.size = 16});
    table(d, {264, 50}, 4, 3, kInk, [](int r, int c) { return digit(10 * (r + 1) + c + 1); });
    d.text({306, 176}, "[4, 3]");
    table(d, {420, 50}, 4, 3, kOrange, [](int, int) { return Words("g"); });
    d.text({462, 176}, {"gradient [4, 3]", "梯度 [4, 3]"});
    const Rect sum = table(d, {530, 92}, 1, 3, kOrange, [](int, int) { return Words("4g"); });
    d.text({572, 132}, {"summed over\nthe rows: [3]", "对各行求和：\n[3]"}, {.size = 11});
    d.arrow({{506, 106}, sum.left()}, {.colour = kOrange});
    d.text({320, 202},
           {"what was used four times gets four gradients", "用了四次的，收到四份梯度"});
    return d;
}

// Chapter 6: which numbers of A and B meet in one number of C, and the same for a tile.
Drawing product(Language language) {
    Drawing d({640, 300}, {"A row meets a column; a tile is reused", "一行遇一列；一块反复用"},
              language);
    constexpr double cell = 17;
    const auto part = [&](Point corner, int rows, int columns, int colour, const auto& marked) {
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < columns; ++c) {
                d.bar({corner.x + c * cell, corner.y + r * cell, cell - 1, cell - 1}, colour,
                      marked(r, c) ? 0.75 : 0.2);
            }
        }
    };
    const auto both = [&](double x, bool tiled, const Words& below) {
        const auto chosen = [tiled](int i, int from) {
            return tiled ? i >= from && i < from + 2 : i == from;
        };
        part({x, 152}, 6, 4, kBlue, [&](int r, int) { return chosen(r, 2); });
        part({x + 5 * cell, 70}, 4, 6, kGreen, [&](int, int c) { return chosen(c, 2); });
        part({x + 5 * cell, 152}, 6, 6, kOrange,
             [&](int r, int c) { return chosen(r, 2) && chosen(c, 2); });
        d.text({x + 2 * cell, 136}, "A  [M, K]");
        d.text({x + 8 * cell, 56}, "B  [K, N]");
        d.text({x + 13 * cell, 200}, "C", {.size = 13});
        d.text({x + 6 * cell, 272}, below);
    };
    both(50, false,
         {"one number: 4 products\nfor 8 numbers read", "一个数：读 8 个数，\n做 4 次乘法"});
    both(370, true,
         {"a tile of 2 x 2: 16 products\nfor 16 numbers read",
          "2 x 2 的一块：读 16 个数，\n做 16 次乘法"});
    return d;
}

// Chapter 7: scores 1, 2, 4 become probabilities, a loss, a gradient.
Drawing softmax(Language language) {
    Drawing d({680, 270}, {"From scores to a loss, and back", "从得分到损失，再回来"}, language);
    constexpr double kFloor = 190;
    const auto bars = [&](double x, const Words& name, const std::vector<double>& heights,
                          const std::vector<std::string>& numbers, int colour) {
        for (std::size_t i = 0; i < heights.size(); ++i) {
            const double left = x + 40 * static_cast<double>(i), height = std::abs(heights[i]);
            const bool down = heights[i] < 0;
            d.bar({left, down ? kFloor : kFloor - height, 30, height}, colour);
            d.text({left + 15, down ? kFloor + height + 9 : kFloor - height - 9}, numbers[i],
                   {.size = 11});
        }
        d.line({{x - 6, kFloor}, {x + 116, kFloor}});
        d.text({x + 55, 50}, name);
    };
    bars(24, {"scores", "得分"}, {15, 30, 60}, {"1", "2", "4"}, kBlue);
    bars(194, {"exponentials eˣ", "指数 eˣ"}, {6, 15, 110}, {"2.7", "7.4", "54.6"}, kBlue);
    bars(364, {"probabilities", "概率"}, {6, 15, 110}, {".04", ".11", ".84"}, kGreen);
    bars(534, {"gradient p - truth", "梯度 p - 真值"}, {4, -40, 38}, {".04", "-.89", ".84"},
         kOrange);
    d.text({167, 120}, "→", {.size = 16}), d.text({337, 120}, "→", {.size = 16});
    d.text({507, 120}, "→", {.size = 16});
    d.text({337, 142}, {"/ sum", "/ 总和"}, {.size = 11});
    d.text(
        {419, 212},
        {"the truth was the second:\nL = -log 0.11 = 2.17", "真值是第二个：\nL = -log 0.11 = 2.17"},
        {.size = 11});
    d.text({340, 256}, {"too high is pushed down, the truth is pushed up, and the pushes sum to 0",
                        "高了往下推，真值往上推，推力之和为 0"});
    return d;
}

}  // namespace

std::vector<Picture> tensor_pictures() {
    return {{"strides", strides},
            {"broadcasting", broadcasting},
            {"product", product},
            {"softmax", softmax}};
}

}  // namespace tapestry::pictures
