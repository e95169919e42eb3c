// Tables of numbers, bars and masks. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <cmath>
#include <functional>

namespace tapestry::pictures {
namespace {

constexpr double kCell = 28;

// A table of numbers; `shown` returns the text of a cell.
template <class Shown>
void table(Drawing& d, Point corner, int rows, int columns, int colour, const Shown& shown) {
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            d.box({corner.x + c * kCell, corner.y + r * kCell, kCell, kCell}, shown(r, c), colour);
        }
    }
}

std::string digit(int n) { return std::to_string(n); }

void strides(Drawing& d) {
    table(d, {60, 60}, 2, 3, kBlue, [](int r, int c) { return digit(3 * r + c); });
    table(d, {440, 46}, 3, 2, kGreen, [](int r, int c) { return digit(3 * c + r); });
    table(d, {236, 190}, 1, 6, kInk, [](int, int c) { return digit(c); });
}

void broadcasting(Drawing& d) {
    table(d, {30, 50}, 4, 1, kBlue, [](int r, int) { return digit(10 * (r + 1)); });
    table(d, {120, 92}, 1, 3, kGreen, [](int, int c) { return digit(c + 1); });
    table(d, {264, 50}, 4, 3, kInk, [](int r, int c) { return digit(10 * (r + 1) + c + 1); });
    table(d, {420, 50}, 4, 3, kOrange, [](int, int) { return "g"; });
    table(d, {530, 92}, 1, 3, kOrange, [](int, int) { return "4g"; });
}

// Which numbers of A and B meet in one number of C, and the same for a tile.
void product(Drawing& d) {
    constexpr double cell = 17;
    const auto part = [&](Point corner, int rows, int columns, int colour, const auto& marked) {
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < columns; ++c) {
                d.bar({corner.x + c * cell, corner.y + r * cell, cell - 1, cell - 1}, colour,
                      marked(r, c) ? 0.75 : 0.2);
            }
        }
    };
    for (const bool tiled : {false, true}) {
        const double x = tiled ? 370 : 50;
        const auto chosen = [tiled](int i) { return i == 2 || (tiled && i == 3); };
        part({x, 152}, 6, 4, kBlue, [&](int r, int) { return chosen(r); });
        part({x + 5 * cell, 70}, 4, 6, kGreen, [&](int, int c) { return chosen(c); });
        part({x + 5 * cell, 152}, 6, 6, kOrange,
             [&](int r, int c) { return chosen(r) && chosen(c); });
        d.draw("text 34,136 A  [M, K] ; 136,56 B  [K, N]\n13px text 221,200 C", {x, 0});
    }
}

// Scores 1, 2, 4 become probabilities, a loss, a gradient.
void softmax(Drawing& d) {
    constexpr double kFloor = 190;
    const auto bars = [&](double x, const std::vector<double>& heights,
                          const std::vector<std::string>& numbers, int colour) {
        for (std::size_t i = 0; i < heights.size(); ++i) {
            const double left = x + 40 * static_cast<double>(i), height = std::abs(heights[i]);
            const bool down = heights[i] < 0;
            d.bar({left, down ? kFloor : kFloor - height, 30, height}, colour);
            d.text({left + 15, down ? kFloor + height + 9 : kFloor - height - 9}, numbers[i],
                   {.size = 11});
        }
        d.line({{x - 6, kFloor}, {x + 116, kFloor}});
    };
    bars(24, {15, 30, 60}, {"1", "2", "4"}, kBlue);
    bars(194, {6, 15, 110}, {"2.7", "7.4", "54.6"}, kBlue);
    bars(364, {6, 15, 110}, {".04", ".11", ".84"}, kGreen);
    bars(534, {4, -40, 38}, {".04", "-.89", ".84"}, kOrange);
}

// 5, 7, 3, 9 of mean 6 and standard deviation 2.24.
void layer_norm(Drawing& d) {
    const auto bars = [&](Point floor, const std::vector<double>& heights) {
        for (std::size_t i = 0; i < heights.size(); ++i) {
            const double h = heights[i];
            d.bar({floor.x + 22 * static_cast<double>(i), h > 0 ? floor.y - h : floor.y, 16,
                   std::abs(h)},
                  kBlue);
        }
        d.line({floor + Point{-8, 0}, floor + Point{90, 0}});
    };
    bars({40, 122}, {35, 49, 21, 63});
    bars({280, 106}, {-7, 7, -21, 21});
    bars({520, 100}, {-9, 9, -27, 27});
}

// One layer, four masks. Rows ask, columns are looked at.
void masks(Drawing& d) {
    constexpr double cell = 13;
    struct Mask {
        const char *name, *note;
        int columns;
        std::function<int(int, int)> colour;  // of row and column; -1: hidden
    };
    const Mask all[] = {
        {"GPT", "the past|只看过去", 8, [](int r, int c) { return c <= r ? kBlue : -1; }},
        {"BERT, ViT", "everything|全都看", 8, [](int, int) { return kBlue; }},
        {"a translator's decoder|翻译模型的解码器",
         "all of the source, and its own past|全部源文本，和自己的过去", 14,
         [](int r, int c) { return c < 6 ? kPink : (c - 6 <= r ? kBlue : -1); }},
        {"a window of 3|宽 3 的窗口", "what is near|只看近处", 8,
         [](int r, int c) { return c <= r && c > r - 3 ? kBlue : -1; }}};
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
}

}  // namespace

Computed computed_tables() {
    return {{"strides", strides}, {"broadcasting", broadcasting}, {"product", product},
            {"softmax", softmax}, {"layer-norm", layer_norm},     {"masks", masks}};
}

}  // namespace tapestry::pictures
