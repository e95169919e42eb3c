// A sweep: three learning rates by four seeds, with confidence intervals, differences paired by
// seed, a table, and a plot as SVG.
#include <tapestry/core/file.h>
#include <tapestry/core/text/plot.h>
#include <tapestry/core/text/text_table.h>
#include <tapestry/tapestry.h>

#include <filesystem>
#include <vector>

#include <unistd.h>

using namespace tapestry;

namespace {

constexpr int kSteps = 120, kSeeds = 4;

// The error on new points after learning a sine, and that after every tenth step.
std::vector<double> run(double rate, std::uint64_t seed) {
    Generator weights = stream(seed, "weights"), points = stream(seed, "points");
    Sequential network;
    network.add<Linear>(1, 24, weights);
    network.add<Tanh>();
    network.add<Linear>(24, 1, weights);
    AdamW optimizer(network, {.lr = rate});
    const Tensor check = linspace(-3, 3, 200).unsqueeze(1);
    std::vector<double> errors;
    for (int step = 1; step <= kSteps; ++step) {
        const Tensor x = uniform({64, 1}, -3, 3, points);
        Tape tape;
        tape.backward(mse_loss(network(x), sin(x)));
        optimizer.step();
        optimizer.zero_grad();
        if (step % 10 == 0) errors.push_back(root_mean_squared_error(network(check), sin(check)));
    }
    return errors;
}

}  // namespace

int main() {
    const std::vector<double> rates{0.001, 0.01, 0.03};
    pictures::Plot plot{.title = "Learning a sine",
                        .x = {.label = "step"},
                        .y = {.label = "error (mean of the seeds)", .log = true}};
    std::vector<std::vector<double>> last(rates.size());  // by rate and seed
    std::vector<std::vector<std::string>> rows{{"rate", "error", "less than with 0.001"}};
    for (std::size_t r = 0; r < rates.size(); ++r) {
        pictures::Series curve{.name = fmt::format("rate {}", rates[r])};
        std::vector<std::vector<double>> runs;
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            runs.push_back(run(rates[r], seed));
            last[r].push_back(runs.back().back());
        }
        for (std::size_t i = 0; i < runs[0].size(); ++i) {
            std::vector<double> at;
            for (const auto& errors : runs) at.push_back(errors[i]);
            curve.x.push_back(10 * static_cast<double>(i + 1));
            curve.y.push_back(student_interval(at).mean);
        }
        plot.series.push_back(curve);
        rows.push_back({fmt::format("{}", rates[r]), to_text(student_interval(last[r])),
                        r == 0 ? "" : to_text(student_interval(differences(last[0], last[r])))});
    }
    fmt::print("{}", terminal::text_table(rows, "rrr"));
    const auto path =
        std::filesystem::temp_directory_path() / fmt::format("sweep-{}.svg", getpid());
    write_file_atomically(path, pictures::svg(plot));
    const std::string picture = read_file(path);
    std::filesystem::remove(path);
    const bool learned = student_interval(differences(last[0], last[2])).low > 0;
    return learned && picture.starts_with("<svg") && picture.find("rate 0.03") != std::string::npos
               ? 0
               : 1;
}
