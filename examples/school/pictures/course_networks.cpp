// Networks and trees: the same parts several times. Read course.h first.
#include <tapestry/examples/school/pictures/course.h>

#include <fmt/format.h>

namespace tapestry::pictures {
namespace {

// Source and target as two rows of cells: by one vector, and below with attention.
void bottleneck(Drawing& d) {
    for (const double down : {0.0, 150.0}) {
        d.draw(R"(
blue box h1 40 56 36 30 h_1 ; h2 110 56 36 30 h_2 ; h3 180 56 36 30 h_3
green box s1 400 56 36 30 s_1 ; s2 470 56 36 30 s_2 ; s3 540 56 36 30 s_3
text h1,114 c ; h2,114 a ; h3,114 t ; s1,114 t ; s2,114 a ; s3,114 c
arrow h1,106 h1 ; h2,106 h2 ; h3,106 h3 ; s1 s1,106 ; s2 s2,106 ; s3 s3,106
arrow h1 h2 ; h2 h3 ; s1 s2 ; s2 s3
dashed arrow 376,114 407.2,114 s1.bottom@0.2 ; 427,114 477.2,114 s2.bottom@0.2
dashed arrow 497,114 547.2,114 s3.bottom@0.2
end text 372,114 begin|开始
)",
               {0, down});
        if (down == 0) d.draw("orange arrow h3 s1");
    }
    d.draw(
        "arrow h3 s1\norange arrow h1 h1,184 s2,184 s2 ; h2 h2,184 s2,184 s2 ; h3 h3,184 s2,184 "
        "s2");
}

// The effect of the query of "hit". The numbers are those of the chapter's program.
void one_head(Drawing& d) {
    const char* words[] = {"the", "robot", "hit", "the", "ball"};
    const char* scores[] = {"0", "3", "0.5", "0", "2"};
    const double weights[] = {0.032, 0.645, 0.053, 0.032, 0.237};
    for (int j = 0; j < 5; ++j) {
        const double x = 190 + 96 * j;
        d.bar({x, 194, 76, 40}, kOrange, 0.08);
        d.bar({x, 234 - 30 * weights[j], 76, 30 * weights[j]}, kOrange, 0.6);
        d.draw(fmt::format(R"(
box word 0 46 76 30 {}
blue box key 0 98 76 30 k = x W_K
green box value 0 248 76 30 v = x W_V
blue arrow word key
arrow key 38,155 ; 38,172 38,189
green line value 38,309
11px text 38,164 q·k/√d = {} ; 38,203 {:.3f}
)",
                           words[j], scores[j], weights[j]),
               {x, 0});
    }
}

// The same pairs are added by one worker and by four.
void sum_tree(Drawing& d) {
    const int colours[] = {kBlue, kOrange, kGreen, kPink};
    for (const int workers : {1, 4}) {
        double at[8];
        for (int i = 0; i < 8; ++i) {
            at[i] = (workers == 1 ? 48 : 368) + 32 * i;
            d.box({at[i] - 13, 168, 26, 24}, fmt::format("x_{}", i), colours[i * workers / 8]);
        }
        for (int level = 0, count = 8; count > 1; ++level, count /= 2) {
            const double y = 168 - 42 * level;
            for (int i = 0; i < count / 2; ++i) {
                const double middle = (at[2 * i] + at[2 * i + 1]) / 2;
                const bool own = count / 2 >= workers;
                const int colour = own ? colours[2 * i * workers / count] : kInk;
                for (const int child : {2 * i, 2 * i + 1}) {
                    d.line({{at[child], y}, {middle, y - 24}}, {.colour = colour, .dashed = !own});
                }
                d.circle({middle, y - 33}, 9, "+", colour);
                at[i] = middle;
            }
        }
    }
}

// Four workers in a ring; which pieces are finished after the first round.
void ring(Drawing& d) {
    const int finished[] = {1, 2, 3, 0};  // the piece that each worker has the whole sum of
    for (const bool second : {false, true}) {
        const double x = second ? 356 : 30;
        const Point places[] = {{x, 64}, {x + 150, 64}, {x + 150, 194}, {x, 194}};
        for (int w = 0; w < 4; ++w) {
            d.draw(fmt::format("box w{0} 0 0 104 52 \n11px text 52,13 worker {0}|工作进程 {0}", w),
                   places[w]);
            for (int p = 0; p < 4; ++p) {
                const bool whole = second || p == finished[w];
                d.bar({places[w].x + 8 + 23.0 * p, places[w].y + 26, 20, 18},
                      whole ? kGreen : kBlue, whole ? 0.8 : 0.3);
            }
        }
        d.draw("arrow w0 w1 ; w1 w2 ; w2 w3 ; w3 w0");
    }
}

}  // namespace

Computed computed_networks() {
    return {
        {"bottleneck", bottleneck}, {"one-head", one_head}, {"sum-tree", sum_tree}, {"ring", ring}};
}

}  // namespace tapestry::pictures
