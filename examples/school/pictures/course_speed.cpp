// Chapter 17: three rates in noise, and a step whose directions are equally long. Read course.h
// first.
#include <tapestry/examples/school/pictures/course.h>

#include <cmath>

namespace tapestry::pictures {
namespace {

// How far off w is, of w <- w - rate (w + noise) from 3 on. With the rate a and noise of variance 1
// the mean square E goes to (1 - a)^2 E + a^2.
Drawing rates(Language language) {
    Drawing d({680, 268},
              {"How far off: 100 steps on noisy gradients", "离目标多远：梯度带噪声的 100 步"},
              language);
    const Point origin{70, 220};
    constexpr double kStep = 4.4, kUnit = 55;
    d.arrow({origin, origin + Point{100 * kStep + 8, 0}});
    d.arrow({origin, origin + Point{0, -3.2 * kUnit}});
    for (const int height : {1, 2, 3}) {
        d.line({origin + Point{-4, -height * kUnit}, origin + Point{0, -height * kUnit}});
        d.text(origin + Point{-16, -height * kUnit}, std::to_string(height));
    }
    for (const int step : {0, 50, 100}) {
        d.text(origin + Point{step * kStep, 16}, std::to_string(step));
    }
    struct Way {
        double first, last;
        Words words;
        int colour;
        bool dashed;
        double above;  // the words, of the line's end
    };
    const Way ways[] = {{0.02, 0.02, {"0.02 all the way", "始终 0.02"}, kGreen, true, 2},
                        {0.5, 0.5, {"0.5 all the way", "始终 0.5"}, kOrange, false, 12},
                        {0.5, 0, {"from 0.5 to 0", "从 0.5 到 0"}, kBlue, false, -6}};
    for (const Way& way : ways) {
        double square = 9;
        std::vector<Point> line;
        for (int step = 0; step <= 100; ++step) {
            line.push_back(origin + Point{step * kStep, -std::sqrt(square) * kUnit});
            const double rate = way.first + (way.last - way.first) * step / 100;
            square = (1 - rate) * (1 - rate) * square + rate * rate;
        }
        d.line(line, {.colour = way.colour, .dashed = way.dashed});
        d.text(line.back() + Point{16, -way.above}, way.words,
               {.anchor = "start", .colour = way.colour});
    }
    return d;
}

// A gradient with the strengths 3, 0.3 and 0.03 in three directions, and Muon's step.
Drawing directions(Language language) {
    Drawing d({680, 200}, {"One step, in three directions", "一步，三个方向"}, language);
    const auto bars = [&](double x, const Words& name, const double(&sizes)[3], int colour) {
        for (int i = 0; i < 3; ++i) {
            const double height = 100 * sizes[i];
            d.bar({x + 44 * i, 150 - height, 30, height}, colour);
        }
        d.line({{x - 10, 150}, {x + 128, 150}});
        d.text({x + 59, 172}, name);
    };
    bars(60, {"the gradient: SGD", "梯度：SGD"}, {1, 0.1, 0.01}, kOrange);
    bars(275, {"after 2 iterations", "迭代 2 次之后"}, {1.0, 0.89, 0.11}, kBlue);
    bars(490, {"after 5: Muon", "5 次之后：Muon"}, {0.99, 1, 0.99}, kBlue);
    return d;
}

}  // namespace

std::vector<Picture> speed_pictures() { return {{"rates", rates}, {"directions", directions}}; }

}  // namespace tapestry::pictures
