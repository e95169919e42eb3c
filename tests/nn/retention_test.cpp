// Which checkpoints are kept, and the distance between the states for rewinding.
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>

using namespace tapestry;

namespace {

constexpr auto kResume = CheckpointPurpose::resume;
constexpr auto kRewind = CheckpointPurpose::rewind;

std::vector<std::int64_t> steps_of(const std::vector<StoredCheckpoint>& stored) {
    std::vector<std::int64_t> steps;
    for (const StoredCheckpoint& one : stored) steps.push_back(one.step);
    std::sort(steps.begin(), steps.end());
    return steps;
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("retention: the latest states to resume from, regardless of those kept for rewinding") {
    const std::vector<StoredCheckpoint> stored{
        {100, kResume}, {150, kRewind}, {200, kResume}, {250, kRewind}, {300, kResume}};
    CHECK_EQ(steps_of(superseded(stored, {.keep = 1, .rewind_every = 50})), Steps{});
    CHECK_EQ(steps_of(superseded(stored, {.keep = 1})), Steps{100, 150, 200, 250});
    CHECK_EQ(steps_of(superseded(stored, {.keep = 2})), Steps{100, 150, 250});
    CHECK_EQ(steps_of(superseded(stored, {.keep = 1, .best = 100})), Steps{150, 200, 250});
    CHECK_EQ(steps_of(superseded(stored, {.keep = 1, .rewind_every = 100})), Steps{150, 250});
    CHECK(superseded({}, {}).empty());
}

TEST_CASE("retention: the latest of all stays, though it was for rewinding") {
    const std::vector<StoredCheckpoint> stored{{100, kResume}, {150, kRewind}};
    CHECK_EQ(steps_of(superseded(stored, {.keep = 1, .rewind_every = 100})), Steps{});
    CHECK_EQ(steps_of(superseded({{100, kResume}, {150, kRewind}, {200, kRewind}},
                                 {.keep = 1, .rewind_every = 100})),
             Steps{150});
}

TEST_CASE("rewind distance: as many as the budget holds, and no nearer than is of use") {
    // 2000 steps of 23 ms, 9.6 MB each: 41 fit into 400 MB.
    CHECK_EQ(rewind_distance(2000, 0.023, 9.6e6, 4e8), 49);
    CHECK_LE(2000 / 49, 41);
    // Small ones: half a second apart.
    CHECK_EQ(rewind_distance(2000, 0.001, 1e4, 4e8), 500);
    CHECK_EQ(rewind_distance(100, 2.0, 1e4, 4e8), 1);
    // None is worth it.
    CHECK_EQ(rewind_distance(2000, 1.0, 1.5e9, 4e8), 0);
    CHECK_EQ(rewind_distance(2000, 0.023, 9.6e6, 0), 0);
}
