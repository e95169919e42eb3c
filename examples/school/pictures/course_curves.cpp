// Functions as curves, and hands of a clock. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tapestry::pictures {
namespace {

// The usual five functions, and how steep they are.
void activations(Drawing& d) {
    using Function = std::function<double(double)>;
    const Function sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    const std::pair<const char*, Function> functions[] = {
        {"sigmoid", sigmoid},
        {"tanh", [](double z) { return std::tanh(z); }},
        {"ReLU", [](double z) { return z > 0 ? z : 0; }},
        {"GELU", [](double z) { return z * 0.5 * (1 + std::erf(z / std::sqrt(2.0))); }},
        {"SiLU", [&](double z) { return z * sigmoid(z); }}};
    constexpr double kUnit = 20, kReach = 3;
    Point centre{74, 112};
    for (const auto& [name, f] : functions) {
        d.draw("line -60,0 60,0 ; 0,26 0,-60", centre);
        std::vector<Point> value, slope;
        for (double z = -kReach; z <= kReach + 1e-9; z += 0.05) {
            value.push_back(centre + Point{z * kUnit, -f(z) * kUnit});
            slope.push_back(centre + Point{z * kUnit, -(f(z + 1e-4) - f(z - 1e-4)) / 2e-4 * kUnit});
        }
        d.line(slope, {.colour = kOrange, .dashed = true});
        d.line(value, {.colour = kBlue});
        d.text(centre + Point{0, 48}, name);
        centre.x += 133;
    }
}

// A walk down a valley that is 12 times as steep across as along.
void walk(Drawing& d, Point centre, double momentum, int colour) {
    const auto place = [&](double along, double across) {
        return centre + Point{140 * along, 200 * across};
    };
    for (const double height : {0.1, 0.35, 0.7, 1.1}) {  // equal loss, along^2 + 12 across^2
        std::vector<Point> line;
        for (int i = 0; i <= 60; ++i) {
            const double angle = i * 6.2831853 / 60;
            line.push_back(
                place(height * std::cos(angle), height * std::sin(angle) / std::sqrt(12.0)));
        }
        d.line(line, {.width = 0.7});
    }
    double along = -1, across = 0.25, u = 0, v = 0;
    std::vector<Point> way{place(along, across)};
    for (int step = 0; step < 14; ++step) {
        u = momentum * u + along, v = momentum * v + 12 * across;
        along -= 0.14 * u, across -= 0.14 * v;
        way.push_back(place(along, across));
    }
    d.arrow(way, {.colour = colour});
}

void valley(Drawing& d) {
    walk(d, {175, 122}, 0, kOrange);
    walk(d, {505, 122}, 0.4, kBlue);
}

// Five positions on a clock with two hands, theta_0 = 1 and theta_1 = 1/100.
void clock(Drawing& d) {
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
        d.text({centre.x, 172}, fmt::format("position {0}|位置 {0}", positions[i]));
    }
}

// Typical pairs of loss curves.
void losses(Drawing& d) {
    using Curve = std::function<double(double)>;  // from 0 to 1, of 0 to 1
    struct Sketch {
        const char* name;
        Curve training, validation;
    };
    const auto falling = [](double high, double rate, double low) -> Curve {
        return [=](double t) { return low + high * std::exp(-rate * t); };
    };
    const Curve too_high = [](double t) {
        return t < 0.62 ? 0.5 + 0.4 * std::exp(-4 * t) - 0.3 * t + 0.06 * std::sin(60 * t)
                        : std::min(1.0, 0.35 + 4 * (t - 0.62));
    };
    const Curve forgotten = [](double t) {
        return 0.55 + 0.35 * std::exp(-3 * t) * std::cos(14 * t) + 0.1 * std::sin(23 * t);
    };
    const Sketch sketches[] = {
        {"healthy|健康", falling(0.85, 5, 0.08), falling(0.78, 5, 0.16)},
        {"learning by heart|死记硬背", falling(0.9, 6, 0.02),
         [](double t) { return 0.2 + 0.73 * std::exp(-7 * t) + 0.5 * t * t; }},
        {"rate too high|学习率太大", too_high, {}},
        {"rate too low|学习率太小", [](double t) { return 0.95 - 0.22 * t; }, {}},
        {"zero__grad forgotten|忘了 zero__grad", forgotten, {}},
        {"too good to be true|好得不像真的", falling(0.94, 22, 0.01), {}}};
    for (int i = 0; i < 6; ++i) {
        const Point origin{40 + 218.0 * (i % 3), 146 + 142.0 * (i / 3)};
        const auto draw = [&](const Curve& f, const LineStyle& style) {
            std::vector<Point> way;
            for (int t = 0; t <= 60; ++t)
                way.push_back(origin + Point{170 * t / 60.0, -92 * f(t / 60.0)});
            d.line(way, style);
        };
        const Sketch& s = sketches[i];
        d.draw("arrow 0,0 180,0 ; 0,0 0,-98", origin);
        draw(s.training, {.colour = kBlue});
        if (s.validation) draw(s.validation, {.colour = kOrange, .dashed = true});
        d.text(origin + Point{88, 16}, s.name);
    }
}

// How far off w is, of w <- w - rate (w + noise) from 3 on. With the rate a and noise of variance 1
// the mean square E goes to (1 - a)^2 E + a^2.
void rates(Drawing& d) {
    const Point origin{70, 220};
    constexpr double kStep = 4.4, kUnit = 55;
    struct Way {
        double first, last;
        const char* words;
        int colour;
        bool dashed;
        double above;  // the words, of the line's end
    };
    const Way ways[] = {{0.02, 0.02, "0.02 all the way|始终 0.02", kGreen, true, 2},
                        {0.5, 0.5, "0.5 all the way|始终 0.5", kOrange, false, 12},
                        {0.5, 0, "from 0.5 to 0|从 0.5 到 0", kBlue, false, -6}};
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
}

}  // namespace

Computed computed_curves() {
    return {{"activations", activations},
            {"valley", valley},
            {"clock", clock},
            {"losses", losses},
            {"rates", rates}};
}

}  // namespace tapestry::pictures
