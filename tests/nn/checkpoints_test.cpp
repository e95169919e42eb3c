// When checkpoints are written, which are kept, and the distance between the states for rewinding.
#include <tapestry/nn/train/checkpoints.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <optional>

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

TEST_CASE("checkpoint schedule: due at an interval, or at evaluations without one") {
    const StepMetrics plain{.step = 50}, evaluated{.step = 50, .val_loss = 2.0};
    const CheckpointSchedule unbound({}), often({.every_steps = 25}), seldom({.every_steps = 40});
    CHECK_EQ(unbound.due_after(plain, 0, false), std::nullopt);
    CHECK_EQ(unbound.due_after(evaluated, 0, false), kResume);
    CHECK_EQ(often.due_after(plain, 0, false), kResume);
    CHECK_EQ(seldom.due_after(evaluated, 0, false), std::nullopt);
    CHECK_EQ(seldom.due_after(plain, 10, false), kRewind);
    CHECK_EQ(often.due_after(plain, 10, false), kResume);
    CHECK_EQ(seldom.due_after(plain, 0, true), std::nullopt);  // failed just now
}

TEST_CASE("checkpoint schedule: one at a time, the best at once, rewind states on time or not") {
    CheckpointSchedule schedule({.every_steps = 10});
    CHECK_EQ(schedule.next(kResume, false, false), kResume);
    schedule.started();
    CHECK_EQ(schedule.next(kRewind, false, true), std::nullopt);
    CHECK_EQ(schedule.next({}, false, false), std::nullopt);  // skipped
    CHECK_EQ(schedule.next(kResume, false, true), std::nullopt);
    CHECK_EQ(schedule.next({}, false, false), kResume);  // follows
    schedule.started();
    CHECK_EQ(schedule.next({}, true, true), kResume);
}

TEST_CASE("checkpoint schedule: a greater distance keeps every other rewind state") {
    const CheckpointSchedule schedule({.rewind_budget = 4e8});
    RunState state;
    schedule.set_rewind_distance(state, 2000, 0.023, 9'600'000);
    CHECK_EQ(state.rewind_every, 49);
    schedule.set_rewind_distance(state, 6000, 0.023, 9'600'000);
    CHECK_EQ(state.rewind_every, 196);
    schedule.set_rewind_distance(state, 2000, 0.023, 1'500'000'000);
    CHECK_EQ(state.rewind_every, 0);
}

TEST_CASE("checkpoint schedule: unless a budget is given, ten states at the most, or 400 MB") {
    const auto distance = [](const CheckpointOptions& options, std::uint64_t bytes) {
        RunState state;
        CheckpointSchedule(options).set_rewind_distance(state, 2000, 1.0, bytes);
        return state.rewind_every;
    };
    CHECK_EQ(distance({}, 10'000), 200);
    CHECK_EQ(distance({}, 9'600'000), 200);
    CHECK_EQ(distance({}, 100'000'000), 500);  // four of them are 400 MB
    CHECK_EQ(distance({}, 1'500'000'000), 0);
    CHECK_EQ(distance({.rewind_budget = 4e8}, 10'000), 1);
    CHECK_EQ(distance({.rewind_budget = 0}, 10'000), 0);
}
