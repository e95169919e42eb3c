// A small ResNet on drawn digits: residual blocks with batch norm, a learning rate that is looked
// for, activations in bf16, and the scores of each class. After He et al. 2015.
#include <tapestry/tapestry.h>

#include <array>
#include <optional>

using namespace tapestry;

namespace {

// 3 x 5 pixels of each digit 0 to 9, row by row.
constexpr std::array<const char*, 10> kDigits{
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#.#..#..#.", "####.#####.####", "####.####..####"};

// [n, 1, 9, 9] with noise, and the digits [n].
TensorDataset<2> draw_digits(std::int64_t n, Generator& generator) {
    Tensor images = randn({n, 1, 9, 9}, generator) * 0.2;
    const Tensor labels = randint(0, 10, {n}, generator);
    for (std::int64_t i = 0; i < n; ++i) {
        const char* const digit = kDigits[labels.at<std::size_t>({i})];
        const auto left = static_cast<std::int64_t>(generator.below(6));
        const auto top = static_cast<std::int64_t>(generator.below(4));
        for (std::int64_t p = 0; p < 15; ++p) {
            if (digit[p] == '#') images[{i, 0, top + p / 3, left + p % 3}] += 1;
        }
    }
    return TensorDataset(images, labels);
}

struct Block : Module {
    Conv2d first, second;
    BatchNorm2d first_norm, second_norm;
    std::optional<Conv2d> shortcut;  // where the shape changes

    Block(std::int64_t in, std::int64_t out, std::int64_t stride, Generator& g)
        : Module("Block"),
          first(in, out, 3, {.stride = stride, .padding = 1}, false, g),
          second(out, out, 3, {.padding = 1}, false, g),
          first_norm(out),
          second_norm(out) {
        register_module("first", first);
        register_module("second", second);
        register_module("first_norm", first_norm);
        register_module("second_norm", second_norm);
        if (in == out && stride == 1) return;
        register_module("shortcut",
                        shortcut.emplace(in, out, 1, Conv2dOptions{.stride = stride}, g));
    }
    Tensor operator()(const Tensor& x) const {
        const Tensor y = second_norm(second(first_norm(first(x)).relu()));
        return (y + (shortcut ? (*shortcut)(x) : x)).relu();
    }
};

}  // namespace

int main() {
    Generator generator(3);
    const TensorDataset<2> train = draw_digits(1500, generator), test = draw_digits(400, generator);
    Sequential network;
    network.add<Conv2d>(1, 12, 3, Conv2dOptions{.padding = 1}, generator);
    network.add<Block>(12, 12, 1, generator);
    network.add<Block>(12, 24, 2, generator);
    network.add<Block>(24, 24, 1, generator);
    network.add<AvgPool2d>(5);
    network.add<Flatten>();
    network.add<Linear>(24, 10, generator);
    AdamW optimizer(network);

    // Convolutions and norms follow the type of their input; parameters stay f32.
    std::int64_t next = 0;
    const EpochOrder order(train.size(), {.batch_size = 50, .shuffle = true});
    const auto loss_of_next = [&] {
        const auto [images, labels] = train.examples(order.ids(next++));
        return cross_entropy(network(images.to(DType::bf16)), labels, {.label_smoothing = 0.05});
    };
    const RateSearch search =
        find_learning_rate(network, optimizer, loss_of_next, {.lowest = 1e-5, .steps = 40});
    optimizer.set_lr(search.suggestion.value_or(1e-3));
    for (std::int64_t step = 0; step < 8 * order.batches(); ++step) {
        Tape tape;
        tape.backward(loss_of_next());
        optimizer.step();
        optimizer.zero_grad();
    }
    network.eval();
    ClassCounts counts(10);
    const auto [images, labels] = test.tensors();
    counts.add(network(images), labels);
    fmt::print("rate {:.4f}: accuracy {:.3f}, macro F1 {:.3f}\n{}\n", optimizer.lr(),
               counts.accuracy(), counts.f1(Average::macro), counts.matrix());
    return counts.accuracy() > 0.8 ? 0 : 1;
}
