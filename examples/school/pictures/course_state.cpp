// Chapters 16 to 18: what a training consists of, a tree of sums, a ring of workers; three rates in
// noise, a step whose directions are equally long; an order to go by. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

#include <cmath>

namespace tapestry::pictures {
namespace {

Drawing state(Language language) {
    Drawing d({640, 226}, {"The state of a training run", "一次训练的状态"}, language);
    const Rect step = d.box({250, 84, 140, 50}, {"one step", "一步"}, kInk, {.bold = true});
    const Rect parts[] = {d.box({20, 50, 160, 32}, {"parameters: N", "参数：N"}, kBlue),
                          d.box({20, 92, 160, 32}, {"moments: 2 N", "矩：2 N"}, kGreen),
                          d.box({20, 134, 160, 32}, {"steps taken", "走了几步"}, kPink),
                          d.box({20, 176, 160, 32}, {"random counters", "随机数的计数"}, kOrange)};
    const double targets[] = {0.2, 0.4, 0.6, 0.8};
    for (int i = 0; i < 4; ++i) d.arrow({parts[i].right(), step.left(targets[i])});
    const Rect next =
        d.box({460, 84, 160, 50}, {"the same four,\none step further", "还是这四样，\n往前一步"});
    d.arrow({step.right(), next.left()});
    d.text({320, 60}, {"settings and data", "设置和数据"});
    d.arrow({{320, 68}, step.top()});
    d.text({420, 186},
           {"whoever has all of it can go on to the same bits;\nwho lacks one part goes on to "
            "another model",
            "样样齐全，接着训练的结果就逐位相同；\n缺了一样，走出来的就是另一个模型"},
           {.size = 11});
    return d;
}

Drawing sum_tree(Language language) {
    Drawing d({640, 236}, {"The same pairs, whoever adds them", "不管谁来加，先加的总是同样的两个"},
              language);
    const auto tree = [&](double x, int workers, const Words& name) {
        const int colours[] = {kBlue, kOrange, kGreen, kPink};
        double at[8];
        for (int i = 0; i < 8; ++i) {
            at[i] = x + 32 * i;
            d.box({at[i] - 13, 168, 26, 24}, fmt::format("x_{}", i), colours[i * workers / 8]);
        }
        for (int level = 0, count = 8; count > 1; ++level, count /= 2) {
            const double y = 168 - 42 * level;
            for (int i = 0; i < count / 2; ++i) {
                const double middle = (at[2 * i] + at[2 * i + 1]) / 2;
                const bool own = count / 2 >= workers;
                const int colour = own ? colours[2 * i * workers / count] : kInk;
                d.line({{at[2 * i], y}, {middle, y - 24}}, {.colour = colour, .dashed = !own});
                d.line({{at[2 * i + 1], y}, {middle, y - 24}}, {.colour = colour, .dashed = !own});
                d.circle({middle, y - 33}, 9, "+", colour);
                at[i] = middle;
            }
        }
        d.text({x + 112, 214}, name);
    };
    tree(48, 1, {"one worker", "一个工作进程"});
    tree(368, 4, {"four workers: a branch each", "四个工作进程：各算一枝"});
    return d;
}

// Four workers in a ring; which pieces are finished after the first round.
Drawing ring(Language language) {
    Drawing d({640, 306},
              {"All-reduce in a ring: two rounds of P - 1 steps",
               "环上的 all-reduce：两圈，每圈 P - 1 步"},
              language);
    const int finished[] = {1, 2, 3, 0};  // the piece that each worker has the whole sum of
    const auto round = [&](double x, bool second, const Words& name) {
        const Point places[] = {{x, 64}, {x + 150, 64}, {x + 150, 194}, {x, 194}};
        std::vector<Rect> workers;
        for (int w = 0; w < 4; ++w) {
            const Rect box{places[w].x, places[w].y, 104, 52};
            workers.push_back(d.box(box, "", kInk));
            d.text({box.centre().x, box.y + 13},
                   {fmt::format("worker {}", w), fmt::format("工作进程 {}", w)}, {.size = 11});
            for (int p = 0; p < 4; ++p) {
                const bool whole = second || p == finished[w];
                d.bar({box.x + 8 + 23.0 * p, box.y + 26, 20, 18}, whole ? kGreen : kBlue,
                      whole ? 0.8 : 0.3);
            }
        }
        d.arrow({workers[0].right(), workers[1].left()}),
            d.arrow({workers[1].bottom(), workers[2].top()});
        d.arrow({workers[2].left(), workers[3].right()}),
            d.arrow({workers[3].top(), workers[0].bottom()});
        d.text({x + 127, 146}, name, {.size = 11});
        d.text({x + 127, 162}, "", {.size = 11});
    };
    round(30, false,
          {"what comes is added:\neach ends with one\nwhole piece",
           "收到的往上加：\n最后各有完整的一段"});
    round(
        356, true,
        {"whole pieces go\nround once more:\nall have all", "完整的各段再传一圈：\n每个都有全部"});
    d.text({157, 270}, {"reduce-scatter", "reduce-scatter"}, {.bold = true});
    d.text({483, 270}, {"all-gather", "all-gather"}, {.bold = true});
    d.text({320, 292},
           {"four pieces in each box; green: the finished sum", "每格四段；绿色：加好的总和"},
           {.size = 11});
    return d;
}

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

Drawing order(Language language) {
    Drawing d({680, 250}, {"An order that saves days", "省下好几天的次序"}, language);
    const Words steps[] = {{"look at\nthe data", "看数据"},
                           {"set some\naside", "留出一些"},
                           {"a baseline", "基线"},
                           {"the first\nloss", "第一个损失"},
                           {"four\nexamples", "四个样本"},
                           {"everything,\nsmall", "全部数据，\n小模型"},
                           {"one thing\nat a time", "一次\n只改一样"}};
    std::vector<Rect> places;
    for (std::size_t i = 0; i < 7; ++i) {
        places.push_back(d.box({16 + 95.0 * static_cast<double>(i), 100, 78, 48}, steps[i],
                               i < 3 ? kBlue : (i < 5 ? kOrange : kGreen)));
        if (i > 0) d.arrow({places[i - 1].right(), places[i].left()});
    }
    const auto back = [&](std::size_t from, std::size_t to, double depth, const Words& why,
                          double at) {
        d.arrow({places[from].bottom(0.35),
                 {places[from].bottom(0.35).x, depth},
                 {places[to].bottom(0.65).x, depth},
                 places[to].bottom(0.65)},
                {.dashed = true});
        d.text({at, depth + 11}, why, {.size = 11});
    };
    back(4, 0, 170, {"cannot learn four: look for the mistake", "四个都学不会：程序或数据有错"},
         295);
    back(6, 5, 170, {"worse: undo it", "变差了：退回去"}, 586);
    back(5, 1, 206,
         {"new ones fail: too few examples, or not what you think they are",
          "新的不会：样本太少，或者不是你以为的那样"},
         330);
    d.text({140, 76}, {"know what you have", "弄清手里有什么"}, {.bold = true});
    d.text({392, 76}, {"does it work at all?", "到底通不通？"}, {.bold = true});
    d.text({578, 76}, {"then make it good", "然后做好"}, {.bold = true});
    return d;
}

}  // namespace

std::vector<Picture> state_pictures() {
    return {{"state", state}, {"sum-tree", sum_tree},     {"ring", ring},
            {"rates", rates}, {"directions", directions}, {"order", order}};
}

}  // namespace tapestry::pictures
