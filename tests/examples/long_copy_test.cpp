// The short form of examples/long_copy: over 32 positions (64 in .ci/long examples), every form
// copies a few symbols, except a sliding window that does not reach that far; nor do two layers of
// one (only in .ci/long). Over 512 positions only softmax finds it easy.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/long_copy.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

using namespace tapestry;
using namespace tapestry::examples;

namespace {

LongCopyOptions small() {
    return {.distance = 64,
            .symbols = 6,
            .alphabet = 8,
            .dim = 32,
            .heads = 2,
            .window = 16,
            .summaries = 16,
            .features = 64,
            .steps = 250,
            .batch = 16};
}

std::size_t number(const std::string& name, const LongCopyOptions& o) {
    const std::vector<std::string> names = contender_names(o);
    std::size_t i = 0;
    while (names.at(i).rfind(name, 0) != 0) ++i;
    return i;
}

double accuracy(const std::string& name, const LongCopyOptions& o) {
    return learn_to_copy(o, number(name, o)).accuracy;
}

}  // namespace

TEST_CASE("long copy: what each form of attention can do") {
    const double guessing = 1.0 / 8;
    const ThreadsGuard one(1);  // too small for several threads
    LongCopyOptions o = small();
    const bool is_long = test::is_long();
    o.distance = is_long ? 64 : 32;
    CHECK_GT(accuracy("softmax", o), 0.99);
    CHECK_GT(accuracy("linear", o), is_long ? 0.9 : 0.7);
    CHECK_GT(accuracy("performer", o), is_long ? 0.8 : guessing + 0.13);  // just starts to copy
    CHECK_GT(accuracy("linformer", o), is_long ? 0.8 : 0.5);
    CHECK_LT(accuracy("window", o), guessing + 0.1);
    o.window = o.distance;
    CHECK_GT(accuracy("window", o), 0.99);
    if (!is_long) return;
    // Nor do two layers with windows of 3/8 of the distance.
    o.window = 3 * o.distance / 8;
    o.layers = 2;
    CHECK_LT(accuracy("window", o), guessing + 0.1);
}

TEST_CASE("long copy: a batch, and what the costs say") {
    LongCopyOptions o = small();
    Generator generator(1);
    const CopyBatch batch = copy_batch(o, generator);
    CHECK(batch.ids.shape() == Shape{16, 70});
    for (std::int64_t i = 0; i < 6; ++i) {
        CHECK_EQ(batch.ids.at<std::int64_t>({3, i}), batch.targets.at<std::int64_t>({3, i}));
        CHECK_EQ(batch.ids.at<std::int64_t>({3, 64 + i}), 8);
    }
    // Memory grows with the length, also for softmax, whose weights are never stored.
    for (const std::string& name : contender_names(o)) {
        const std::size_t which = number(name, o);
        const double ratio = cost_at(o, which, 1024).megabytes / cost_at(o, which, 256).megabytes;
        CAPTURE(name);
        CAPTURE(ratio);
        CHECK(ratio < 6);
    }
    o.symbols = 65;
    CHECK_THROWS_WITH_AS(CopyModel(o, {}, generator),
                         "CopyModel: 65 symbols do not fit into a distance of 64", ValueError);
}
