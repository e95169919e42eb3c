// long_copy: copying over 512 positions with five forms of attention, and the cost of each by
// length. See long_copy.h.
#include <tapestry/examples/options/options.h>
#include <tapestry/examples/school/tasks/long_copy.h>

using namespace tapestry;
using namespace tapestry::examples;

namespace {

void compare_learning(LongCopyOptions o, const std::vector<std::int64_t>& counts) {
    fmt::print("symbols of {} kinds over {} positions, {} steps of {} sequences\n{:<16}",
               o.alphabet, o.distance, o.steps, o.batch, "");
    for (const std::int64_t count : counts) fmt::print("{:>5} symbols", count);
    fmt::print("{:>12}{:>12}\n", "ms / step", "peak MB");
    const std::vector<std::string> names = contender_names(o);
    for (std::size_t which = 0; which < names.size(); ++which) {
        fmt::print("{:<16}", names[which]);
        CopyResult r;
        for (const std::int64_t count : counts) {
            o.symbols = count;
            r = learn_to_copy(o, which);
            fmt::print("{:>11.1f} %", 100 * r.accuracy);
            std::fflush(stdout);
        }
        fmt::print("{:>12.1f}{:>12.1f}\n", r.milliseconds, r.megabytes);
    }
    fmt::print("{:<16}{:>11.1f} %\n", "(guessing)", 100.0 / static_cast<double>(o.alphabet));
    fmt::print(
        "Linformer's and the Performer's scores depend strongly on the random projections: try "
        "--seed.\n");
}

void compare_costs(const LongCopyOptions& o, std::int64_t longest) {
    fmt::print("\none layer, forward and backward: ms and MB at each length\n{:<16}", "");
    for (std::int64_t length = 128; length <= longest; length *= 2) fmt::print("{:>17}", length);
    const std::vector<std::string> names = contender_names(o);
    for (std::size_t which = 0; which < names.size(); ++which) {
        fmt::print("\n{:<16}", names[which]);
        for (std::int64_t length = 128; length <= longest; length *= 2) {
            const Cost cost = cost_at(o, which, length);
            fmt::print("{:>9.1f}{:>8.1f}", cost.milliseconds, cost.megabytes);
            std::fflush(stdout);
        }
    }
    fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
    LongCopyOptions o;
    std::vector<std::int64_t> counts{8, 32};
    std::int64_t longest = 4096;
    const cli::Bounds positive{1, 1000000};
    cli::Options options("long_copy",
                         "long_copy: copying over a long distance, with five forms of attention");
    options.count("--distance", o.distance, "Distance between a symbol and its copy", positive);
    options.counts("--symbols", counts, "Number of symbols to copy, one per column", positive);
    options.count("--window", o.window, "Window size of sliding-window attention", positive);
    options.count("--summaries", o.summaries, "Number of summaries in Linformer", positive);
    options.count("--features", o.features, "Features per head in the Performer", positive);
    options.count("--layers", o.layers, "Layers of each model", positive);
    options.count("--steps", o.steps, "Training steps for each form", positive);
    options.seed(o.seed, "Seed for weights and sequences");
    options.count("--longest", longest,
                  "Longest sequence in the cost comparison, which starts at 128", positive);
    options.run([&] {
        compare_learning(o, counts);
        compare_costs(o, longest);
        return cli::kSuccess;
    });
    return options.main(argc, argv);
}
