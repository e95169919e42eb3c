// A forecaster: the next 12 hours of a power grid's load as three quantiles, by convolutions that
// never look ahead. The series is in a .npy file, of which only windows are read; the last part of
// it is held out. Pinball loss: Koenker and Bassett 1978; the network: Bai, Kolter and Koltun 2018.
#include <tapestry/tapestry.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>

#include <unistd.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kPast = 72, kFuture = 12, kHours = 24 * 250, kSplit = 24 * 200;
constexpr std::array<double, 3> kQuantiles{0.1, 0.5, 0.9};

// A day's and a week's pattern with noise that lasts for some hours.
Tensor draw_load(Generator& generator) {
    const auto drawn = randn({kHours}, generator).to_vector<double>();
    std::vector<float> load;
    double noise = 0;
    for (std::int64_t hour = 0; hour < kHours; ++hour) {
        const double day = 2 * std::numbers::pi * static_cast<double>(hour) / 24;
        noise = 0.8 * noise + 0.15 * drawn[load.size()];
        load.push_back(static_cast<float>(std::sin(day) + 0.5 * std::sin(day / 7) + noise));
    }
    return tensor(load, {kHours});
}

// [B, T] -> [B, F, Q]: dilated causal convolutions, and a forecast from the last position.
struct Forecaster : Module {
    Conv1d first;
    ModuleList<Conv1d> blocks;
    Linear head;

    explicit Forecaster(Generator& g)
        : Module("Forecaster"),
          first(1, 24, 3, {.causal = true}, g),
          head(24, kFuture * std::ssize(kQuantiles), g) {
        register_module("first", first);
        register_module("blocks", blocks);
        register_module("head", head);
        for (const std::int64_t dilation : {2, 4, 8, 16}) {
            blocks.add(24, 24, 3, Conv1dOptions{.dilation = dilation, .causal = true}, g);
        }
    }
    Tensor operator()(const Tensor& past) const {
        Tensor x = first(past.unsqueeze(1));  // [B, 24, T]
        for (const Conv1d& block : blocks) x = x + block(x).relu();
        return head(select(x, 2, -1)).reshape(past.size(0), kFuture, std::ssize(kQuantiles));
    }
};

}  // namespace

int main() {
    Generator generator(7);
    const auto path = std::filesystem::temp_directory_path() / fmt::format("load-{}.npy", getpid());
    write_npy(path, draw_load(generator));
    constexpr std::int64_t kLength = kPast + kFuture;
    const SeriesWindows train(path, {.length = kLength, .last = kSplit});
    const SeriesWindows held_out(path, {.length = kLength, .stride = 12, .first = kSplit});
    std::filesystem::remove(path);  // it is open

    Forecaster model(generator);
    AdamW optimizer(model, {.lr = 3e-3});
    const EpochOrder order(train.size(), {.batch_size = 64, .shuffle = true, .drop_last = true});
    for (std::int64_t step = 0; step < 2 * order.batches(); ++step) {
        const Tensor window = train.batch(order.ids(step));
        Tape tape;
        const Tensor found = model(narrow(window, 1, 0, kPast));
        const Tensor wanted = narrow(window, 1, kPast, kFuture);
        Tensor loss = zeros({});
        for (std::int64_t q = 0; q < std::ssize(kQuantiles); ++q) {
            loss = loss + quantile_loss(select(found, 2, q), wanted,
                                        kQuantiles[static_cast<std::size_t>(q)]);
        }
        optimizer.zero_grad();
        tape.backward(loss);
        optimizer.step();
    }

    const Tensor window = held_out.batch(arange(held_out.size()));
    const Tensor wanted = narrow(window, 1, kPast, kFuture);
    const Tensor found = model(narrow(window, 1, 0, kPast));
    const double error = mean_absolute_error(select(found, 2, 1), wanted);
    const double yesterday = mean_absolute_error(narrow(window, 1, kPast - 24, kFuture), wanted);
    const Tensor inside = (wanted >= select(found, 2, 0)) & (wanted <= select(found, 2, 2));
    const Interval coverage = share_interval(inside.sum().item<std::int64_t>(), inside.numel());
    fmt::print("error of the median {:.3f}, of yesterday's load {:.3f}\n", error, yesterday);
    fmt::print("{} of the hours in the 80 % band\n", to_text(coverage));
    return error < 0.75 * yesterday && coverage.mean > 0.6 && coverage.mean < 0.95 ? 0 : 1;
}
