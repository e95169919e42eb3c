// Chapters 1 to 4: a tape, a neuron, a hidden layer, the loop. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <cmath>
#include <functional>

namespace tapestry::pictures {
namespace {

// The tape of chapter 1: down it goes the computation, up it go the gradients.
Drawing tape(Language language) {
    Drawing d({640, 336}, {"One walk forward, one walk back", "往前走一趟，往回走一趟"}, language);
    struct Row {
        Words computes, keeps, gradient;
        const char* result;
    };
    const Row rows[] = {
        {"0: p = x w", {"keeps x and w", "留着 x 和 w"}, "dL/dp = g (1 - y²)", "p"},
        {"1: y = tanh p", {"keeps y", "留着 y"}, "dL/dy = 2 g y", "y"},
        {"2: z = y²", {"keeps y", "留着 y"}, "dL/dz = g", "z"},
        {{"3: L = sum of z", "3: L = z 之和"}, {"keeps nothing", "什么也不留"}, "dL/dL = 1", "L"}};
    d.text({217, 46}, {"forward", "前向"}, {.anchor = "end", .colour = kBlue, .bold = true});
    d.text({312, 46}, {"back", "反向"}, {.anchor = "start", .colour = kOrange, .bold = true});
    d.text({217, 66}, "x, w", {.anchor = "end"});
    d.text({312, 66}, "dL/dx = g w, dL/dw = g x", {.anchor = "start"});
    for (int i = 0; i < 4; ++i) {
        const double y = 82 + 60 * i;
        const Rect row = d.box({190, y, 150, 34}, rows[i].computes);
        d.text({row.x + 160, y + 17}, rows[i].keeps, {.anchor = "start", .size = 11});
        if (i == 0) {
            d.arrow({{row.top(0.25).x, 56}, row.top(0.25)}, {.colour = kBlue});
            d.arrow({row.top(0.75), {row.top(0.75).x, 56}}, {.colour = kOrange});
        }
        const double below = y + 34;
        d.arrow({row.bottom(0.25), {row.bottom(0.25).x, i < 3 ? y + 60 : below + 26}},
                {.colour = kBlue});
        d.text({row.bottom(0.25).x - 14, below + 13}, rows[i].result);
        d.arrow({{row.bottom(0.75).x, i < 3 ? y + 60 : below + 26}, row.bottom(0.75)},
                {.colour = kOrange});
        d.text({row.bottom(0.75).x + 10, below + 13}, rows[i].gradient, {.anchor = "start"});
    }
    return d;
}

// Chapter 2: z = w x + b, y = tanh z, L = (y - t)^2, and the chain rule from the end.
Drawing neuron(Language language) {
    Drawing d({640, 250},
              {"A neuron, and the chain rule from its end", "一个神经元，链式法则从末尾走起"},
              language);
    d.circle({40, 70}, 16, "x");
    d.circle({40, 120}, 16, "w", kGreen);
    d.circle({40, 170}, 16, "b", kGreen);
    const Rect z = d.box({130, 100, 110, 40}, "z = w x + b");
    const Rect y = d.box({310, 100, 100, 40}, "y = tanh z");
    const Rect loss = d.box({490, 100, 110, 40}, "L = (y - t)²");
    d.arrow({{57, 72}, z.left(0.2)}, {.colour = kBlue});
    d.arrow({{57, 120}, z.left()}, {.colour = kBlue});
    d.arrow({{57, 168}, z.left(0.8)}, {.colour = kBlue});
    d.arrow({z.right(0.3), y.left(0.3)}, {.colour = kBlue});
    d.arrow({y.right(0.3), loss.left(0.3)}, {.colour = kBlue});
    d.text({545, 62}, {"t, the wanted output", "t，想要的输出"});
    d.arrow({{545, 72}, loss.top()}, {.colour = kBlue});
    d.arrow({loss.bottom(), {545, 185}, {360, 185}, y.bottom()}, {.colour = kOrange});
    d.text({452, 172}, "dL/dy = 2 (y - t)");
    d.arrow({y.bottom(0.3), {340, 210}, {185, 210}, z.bottom()}, {.colour = kOrange});
    d.text({262, 197}, "dL/dz = dL/dy (1 - y²)");
    d.arrow({z.bottom(0.2), {152, 232}, {40, 232}, {40, 187}}, {.colour = kOrange});
    d.text({96, 207}, "dL/db = dL/dz");
    d.text({96, 221}, "dL/dw = dL/dz x");
    return d;
}

// A plane with two axes and its four corners.
void plane(Drawing& d, Point origin, double unit, const char* across, const char* up) {
    const Point corner = origin + Point{-22, 22};  // points on the axes shall be seen
    d.arrow({corner, corner + Point{2.6 * unit, 0}});
    d.arrow({corner, corner + Point{0, -1.9 * unit}});
    d.text(corner + Point{2.6 * unit - 6, 14}, across);
    d.text(corner + Point{-12, -1.8 * unit}, up);
}

// Chapter 3: XOR, before and behind a hidden layer.
Drawing hidden_layer(Language language) {
    Drawing d({680, 268}, {"XOR: a hidden layer moves the points", "异或：隐藏层把点挪了位置"},
              language);
    constexpr double unit = 62;
    const Point left{44, 190}, right{450, 190};
    plane(d, left, unit, "x_1", "x_2");
    const auto corner = [&](Point origin, double x, double y, const char* answer) {
        d.circle(origin + Point{x * unit, -y * unit}, 10, answer,
                 answer[0] == '1' ? kOrange : kBlue);
    };
    corner(left, 0, 0, "0"), corner(left, 1, 1, "0"), corner(left, 1, 0, "1"),
        corner(left, 0, 1, "1");
    d.text({112, 246}, {"no line separates 0 from 1", "没有一条线分得开 0 和 1"});

    const double x1 = 252, h = 318, y = 384;
    d.circle({x1, 90}, 14, "x_1"), d.circle({x1, 160}, 14, "x_2");
    d.circle({h, 90}, 14, "h_1", kGreen), d.circle({h, 160}, 14, "h_2", kGreen);
    d.circle({y, 125}, 14, "y");
    for (const double from : {90.0, 160.0}) {
        for (const double to : {90.0, 160.0}) {
            const double turn = to == from ? 0 : (to > from ? 8 : -8);
            d.arrow({{x1 + 14, from + turn * 0.8}, {h - 15, to - turn}});
        }
    }
    d.arrow({{h + 14, 94}, {y - 14, 118}});
    d.arrow({{h + 14, 156}, {y - 14, 132}});
    d.text({350, 84}, "1", {.size = 11}), d.text({353, 166}, "-2", {.size = 11});
    d.text({318, 207}, {"two neurons: two lines", "两个神经元：两条线"});

    plane(d, right, unit, "h_1", "h_2");
    corner(right, 0, 0, "0"), corner(right, 1, 0, "1"), corner(right, 2, 1, "0");
    d.line({right + Point{0.3 * unit, 0.1 * unit}, right + Point{2.7 * unit, -1.1 * unit}},
           {.colour = kGreen, .dashed = true});
    d.text({530, 246}, {"one line does: h_1 - 2 h_2 = 1/2", "一条线就够：h_1 - 2 h_2 = 1/2"});
    return d;
}

// Chapter 3: the usual five, and how steep they are.
Drawing activations(Language language) {
    Drawing d({680, 190},
              {"Activation functions (solid) and their slopes (dashed)",
               "激活函数（实线）和它们的斜率（虚线）"},
              language);
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
        d.line({centre + Point{-kReach * kUnit, 0}, centre + Point{kReach * kUnit, 0}});
        d.line({centre + Point{0, kUnit + 6}, centre + Point{0, -kReach * kUnit}});
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
    return d;
}

// Chapter 4: a walk down a valley that is 12 times as steep across as along, with and without
// momentum.
Drawing valley(Language language) {
    Drawing d({680, 236},
              {"A narrow valley: SGD, and the same with momentum", "窄谷：SGD，和带动量的 SGD"},
              language);
    const auto walk = [&](Point centre, double momentum, const Words& name, int colour) {
        const auto place = [&](double along, double across) {
            return centre + Point{140 * along, 200 * across};
        };
        for (const double height :
             {0.1, 0.35, 0.7, 1.1}) {  // lines of equal loss, along^2 + 12 across^2
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
        d.text(centre + Point{0, 92}, name);
    };
    walk({175, 122}, 0, {"14 steps without", "没有动量，14 步"}, kOrange);
    walk({505, 122}, 0.4, {"14 steps with momentum 0.4", "动量 0.4，14 步"}, kBlue);
    return d;
}

// Chapter 4: every training is this circle.
Drawing loop(Language language) {
    Drawing d({640, 250}, {"The training loop", "训练循环"}, language);
    const Rect batch =
        d.box({30, 50, 110, 44}, {"a batch:\ninputs, targets", "一批样本：\n输入和目标"});
    const Rect model = d.box({210, 50, 100, 44}, {"the model", "模型"}, kBlue);
    const Rect loss = d.box({400, 50, 90, 44}, {"the loss", "损失"}, kOrange);
    const Rect gradients = d.box({400, 140, 90, 44}, {"gradients", "梯度"}, kOrange);
    const Rect optimiser = d.box({190, 140, 140, 44}, {"the optimiser", "优化器"}, kGreen);
    d.arrow({batch.right(), model.left()});
    d.arrow({model.right(), loss.left()});
    d.text({355, 60}, {"outputs", "输出"}, {.size = 11});
    d.arrow({batch.top(), {85, 36}, {445, 36}, loss.top()});
    d.text({250, 26}, {"targets", "目标"}, {.size = 11});
    d.arrow({loss.bottom(), gradients.top()}, {.colour = kOrange});
    d.text({452, 117}, {"backward", "反向"}, {.anchor = "start"});
    d.arrow({gradients.left(), optimiser.right()}, {.colour = kOrange});
    d.arrow({optimiser.top(), model.bottom()}, {.colour = kGreen});
    d.text({268, 117}, {"moves the parameters", "挪动参数"}, {.anchor = "start", .size = 11});
    const Rect held = d.box({30, 140, 110, 44}, {"held-out\nexamples", "留出的样本"});
    d.arrow({held.top(), {85, 117}, {220, 117}, model.bottom(0.1)}, {.dashed = true});
    const Rect validation = d.box({530, 50, 96, 44}, {"validation\nloss", "验证损失"});
    d.arrow({model.bottom(0.9), {300, 105}, {578, 105}, validation.bottom()}, {.dashed = true});
    d.text({320, 222}, {"solid: every step; dashed: now and then, to look, without gradients",
                        "实线：每一步；虚线：隔一阵看一眼，不算梯度"});
    return d;
}

}  // namespace

std::vector<Picture> training_pictures() {
    return {{"tape", tape},
            {"neuron", neuron},
            {"hidden-layer", hidden_layer},
            {"activations", activations},
            {"loop", loop},
            {"valley", valley}};
}

}  // namespace tapestry::pictures
