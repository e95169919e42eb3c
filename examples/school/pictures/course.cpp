// All pictures of the course, and the README's, the house: what stands on what. Read course.h
// first.
#include <tapestry/examples/school/pictures/course.h>

namespace tapestry::pictures {
namespace {

struct Floor {
    Words name, words;
    int colour;
};

Drawing house(Language language) {
    const std::vector<Floor> floors{
        {{"examples", "examples"},
         {"the command, tasks, experiments, the playground", "命令、任务、实验、游乐场"},
         kInk},
        {{"nn", "nn"},
         {"attention, Transformers, optimisers, training,\nfiles, and the pages that show it",
          "注意力、Transformer、优化器、训练、\n文件，以及展示这一切的网页"},
         kGreen},
        {{"ops", "ops"},
         {"every function with its gradient,\nfused, and plain beside it",
          "每个函数和它的梯度：\n融合的版本，和对照用的朴素版本"},
         kOrange},
        {{"autograd", "autograd"},
         {"the tape: what ran, walked back from the end;\nand are the gradients right?",
          "计算带：记下运行过的，再从末尾走回来；\n以及：梯度对吗？"},
         kBlue},
        {{"core", "core"},
         {"tensors, memory, threads, random numbers", "张量、内存、线程、随机数"},
         kPink},
    };
    Drawing d(
        {680, 380},
        {"The house: each floor sees only those below it", "整座房子：每一层只看得见下面的层"},
        language);
    const double left = 20, width = 470, height = 48, step = 66;
    double y = 44;
    std::vector<Rect> rooms;
    for (const Floor& floor : floors) {
        const Rect name = d.box({left, y, 96, height}, floor.name, floor.colour, {.bold = true});
        rooms.push_back(d.box({left + 96, y, width - 96, height}, floor.words, floor.colour));
        if (rooms.size() < floors.size()) {
            d.arrow({name.bottom(), {name.bottom().x, y + step}}, {.colour = floor.colour});
        }
        y += step;
    }
    const Rect kernels =
        d.box({514, rooms[2].y, 150, height},
              {"ops/kernels:\nSSE2 to AVX-512, NEON", "ops/kernels：\nSSE2 至 AVX-512、NEON"},
              kYellow, {.size = 11});
    d.arrow({rooms[2].right(), kernels.left()}, {.colour = kOrange});
    d.arrow({kernels.bottom(), {kernels.bottom().x, rooms[4].right().y}, rooms[4].right()},
            {.colour = kYellow});
    return d;
}

}  // namespace

std::vector<Picture> course_pictures() {
    std::vector<Picture> all;
    for (const auto& part : {training_pictures(), tensor_pictures(), attention_pictures(),
                             transformer_pictures(), state_pictures()}) {
        all.insert(all.end(), part.begin(), part.end());
    }
    all.push_back({"house", house});
    return all;
}

}  // namespace tapestry::pictures
