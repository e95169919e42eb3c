// The network cost model: by hand, and the figures in docs/distributed.md.
#include <tapestry/nn/bench/profile.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

using namespace tapestry;
using namespace tapestry::bench;
using doctest::Approx;

TEST_CASE("network cost: by hand") {
    // 800 bytes, two processes: 400 of gradients each, in four buckets, at 100 bytes per second.
    const SharedStep step{.compute = 10, .to_go = {6, 4, 2, 0}, .bytes = 800, .processes = 2};
    const Line line{.bytes_per_second = 100, .latency = 0.5};
    const NetworkCost cost = network_cost(step, line);
    CHECK_EQ(cost.gradients, Approx(4));
    CHECK_EQ(cost.exposed, Approx(1.5));  // the last bucket, and its latency
    CHECK_EQ(cost.rest, Approx(5.5));     // 400 bytes of parameters, and three latencies
    CHECK_EQ(cost.total, Approx(17));
    CHECK_EQ(cost.hidden_share(), Approx(1 - 1.5 / 4));

    // At a quarter of that rate the line is never idle from the first bucket on: 16 seconds, six
    // hidden.
    CHECK_EQ(network_cost(step, {.bytes_per_second = 25, .latency = 0}).exposed, Approx(10));
    // The cost of a message does not depend on the rate.
    const Line slow_to_speak{.bytes_per_second = 1e12, .latency = 0, .seconds_per_message = 3};
    CHECK_EQ(network_cost(step, slow_to_speak).exposed, Approx(6));
    CHECK_EQ(network_cost(step, slow_to_speak).rest, Approx(9));
    CHECK_EQ(network_cost(shared_by(step, 1, 2), line).total, Approx(20));

    const SharedStep four = shared_by(step, 4, 0.5);
    CHECK_EQ(network_cost(four, line).gradients, Approx(6));
    CHECK_EQ(network_cost(four, line).exposed, Approx(3.5));  // from -3 on, four times 1.5; 0.5
    test::check_throws<ValueError>([] { network_cost({}, {}); },
                                   "network cost: a step without buckets");
    test::check_throws<ValueError>([&] { network_cost(step, {.bytes_per_second = 0}); },
                                   "network cost: 0 bytes per second");
}

namespace {

// A GPT on a machine with two cores: seconds for 64 sequences, and the part of its gradient that is
// complete only at the end of backward, because the embedding is also the head.
struct Workload {
    const char* name;
    double parameters;
    double seconds;
    double at_the_end;
};

// 64 micro-batches are distributed; backward takes two thirds of the time of a machine's last one.
double times_as_fast(const Workload& w, int machines, double gbit) {
    const auto buckets = static_cast<int>(std::max(16.0, 4 * w.parameters / 4194304));
    const int last = static_cast<int>(std::lround(w.at_the_end * buckets));
    SharedStep step{.compute = w.seconds / machines, .bytes = 4 * w.parameters};
    step.processes = machines;
    for (int k = 1; k <= buckets; ++k) {
        const double left = std::max(0.0, 1 - static_cast<double>(k) / (buckets - last));
        step.to_go.push_back(w.seconds / 64 * 2 / 3 * left);
    }
    const Line line{.bytes_per_second = gbit * 125e6, .seconds_per_message = 10e-6};
    return w.seconds / network_cost(step, line).total;
}

}  // namespace

TEST_CASE("network cost: the table of docs/distributed.md") {
    std::ifstream file(test::source_dir() / "docs/distributed.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const Workload gpts[] = {{"0.8M, context 64", 809856, 64 * 0.0164 / 12, 0},
                             {"10.8M, context 256", 10770816, 64 * 0.872 / 16, 0},
                             {"124M, context 64", 124439808, 64 * 0.692 / 4, 0.32}};
    for (const Workload& w : gpts) {
        for (const double gbit : {1.0, 10.0, 25.0}) {
            std::string row = fmt::format("| {} | {:g} |", w.name, gbit);
            for (const int machines : {2, 4, 8, 16, 64}) {
                row += fmt::format(" {:.1f} |", times_as_fast(w, machines, gbit));
            }
            CHECK_MESSAGE(page.find(row + "\n") != page.npos, row);
        }
    }
}
