// The model of what a network costs: by hand, and against processes that are threads with a network
// between them.
#include <tapestry/nn/bench/network_cost.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using namespace tapestry::bench;
using doctest::Approx;

TEST_CASE("network cost: by hand") {
    // 800 bytes, two processes: 400 of gradients each, in four buckets; 100 bytes a second.
    const SharedStep step{.compute = 10, .to_go = {6, 4, 2, 0}, .bytes = 800, .processes = 2};
    const Line line{.bytes_per_second = 100, .latency = 0.5};
    const NetworkCost cost = network_cost(step, line);
    CHECK_EQ(cost.gradients, Approx(4));
    CHECK_EQ(cost.exposed, Approx(1.5));  // the last bucket, and its latency
    CHECK_EQ(cost.rest, Approx(5));       // 400 bytes of parameters, and two latencies
    CHECK_EQ(cost.total, Approx(16.5));
    CHECK_EQ(cost.hidden_share(), Approx(1 - 1.5 / 4));

    // A line of a quarter of that is never idle from the first bucket on: 16 seconds, six hidden.
    CHECK_EQ(network_cost(step, {.bytes_per_second = 25, .latency = 0}).exposed, Approx(10));
    // A message costs what it costs, however fast the line.
    const Line slow_to_speak{.bytes_per_second = 1e12, .latency = 0, .seconds_per_message = 3};
    CHECK_EQ(network_cost(step, slow_to_speak).exposed, Approx(6));
    CHECK_EQ(network_cost(step, slow_to_speak).rest, Approx(6));
    CHECK_EQ(network_cost(shared_by(step, 1, 2), line).total, Approx(20));

    const SharedStep four = shared_by(step, 4, 0.5);
    CHECK_EQ(network_cost(four, line).gradients, Approx(6));
    CHECK_EQ(network_cost(four, line).exposed, Approx(3.5));  // from -3 on, four times 1.5; 0.5
    test::check_throws<ValueError>([] { network_cost({}, {}); },
                                   "network cost: a step without buckets");
    test::check_throws<ValueError>([&] { network_cost(step, {.bytes_per_second = 0}); },
                                   "network cost: 0 bytes per second");
}
