// Offsets of blocks: blocks in use at the same time do not overlap, and the total is close to the
// peak sum.
#include <tapestry/core/planned_memory.h>
#include <tapestry/core/random.h>
#include <tapestry/tests/core/support.h>

using namespace tapestry;
using tapestry::test::check_throws;

namespace {

// True if two lives overlap, by testing every moment.
bool together(const BlockLife& a, const BlockLife& b, std::size_t cycle) {
    const auto needs = [cycle](const BlockLife& life, std::size_t moment) {
        return (moment + cycle - life.from) % cycle < life.length;
    };
    for (std::size_t moment = 0; moment < cycle; ++moment) {
        if (needs(a, moment) && needs(b, moment)) return true;
    }
    return false;
}

// The peak sum, by testing every moment.
std::size_t worst(const std::vector<BlockLife>& lives, std::size_t cycle) {
    std::size_t most = 0;
    for (std::size_t moment = 0; moment < cycle; ++moment) {
        std::size_t sum = 0;
        for (const BlockLife& life : lives) {
            if (together(life, {1, moment, 1}, cycle)) sum += planned_bytes(life.bytes);
        }
        most = std::max(most, sum);
    }
    return most;
}

void check_plan(const std::vector<BlockLife>& lives, std::size_t cycle, const MemoryPlan& plan) {
    REQUIRE(plan.offsets.size() == lives.size());
    CHECK(plan.least == worst(lives, cycle));
    CHECK(plan.bytes >= plan.least);
    std::size_t end = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
        CHECK(plan.offsets[i] % 64 == 0);
        const std::size_t end_of_i = plan.offsets[i] + planned_bytes(lives[i].bytes);
        end = std::max(end, end_of_i);
        for (std::size_t j = 0; j < i; ++j) {
            const bool apart = plan.offsets[j] + planned_bytes(lives[j].bytes) <= plan.offsets[i] ||
                               end_of_i <= plan.offsets[j];
            CHECK((apart || !together(lives[i], lives[j], cycle)));
        }
    }
    CHECK(plan.bytes == end);
}

}  // namespace

TEST_CASE("memory_plan: one after the other lie in one place, at once side by side") {
    const std::vector<BlockLife> lives{{100, 0, 2}, {128, 2, 2}, {64, 1, 2}};
    const MemoryPlan plan = plan_memory(lives, 4);
    check_plan(lives, 4, plan);
    CHECK(plan.offsets[0] == plan.offsets[1]);
    CHECK(plan.bytes == 128 + 64);
    CHECK(plan_memory({}, 0).bytes == 0);
}

TEST_CASE("memory_plan: a life goes across the end of the cycle, or lasts it all") {
    const std::vector<BlockLife> lives{{64, 3, 3}, {64, 0, 1}, {64, 2, 1}, {64, 1, 4}};
    const MemoryPlan plan = plan_memory(lives, 4);
    check_plan(lives, 4, plan);
    CHECK(plan.least == 3 * 64);  // at moment 0: the end of the first, the second, the last
    CHECK(plan.offsets[2] != plan.offsets[3]);
}

TEST_CASE("memory_plan: what forward keeps for backward is let go in the reverse order") {
    std::vector<BlockLife> lives;
    constexpr std::size_t kLayers = 24, kCycle = 4 * kLayers;
    for (std::size_t i = 0; i < kLayers; ++i) {
        lives.push_back({4096 * (1 + i % 3), 2 * i, kCycle - 4 * i - 1});  // saved
        lives.push_back({16384, 2 * i + 1, 1});                            // used immediately
        lives.push_back({8192, kCycle - 2 * i - 1, 2});                    // a gradient
    }
    const MemoryPlan plan = plan_memory(lives, kCycle);
    check_plan(lives, kCycle, plan);
    CHECK(static_cast<double>(plan.bytes) <= 1.05 * static_cast<double>(plan.least));
}

TEST_CASE("memory_plan: random lives") {
    Generator generator(7);
    const auto number = [&](std::int64_t below) {
        return static_cast<std::size_t>(randint(0, below, {1}, generator).item<std::int64_t>());
    };
    for (int round = 0; round < 40; ++round) {
        const std::size_t cycle = 1 + number(30);
        std::vector<BlockLife> lives(number(40));
        for (BlockLife& life : lives) {
            life = {number(2000), number(static_cast<std::int64_t>(cycle)),
                    1 + number(static_cast<std::int64_t>(cycle))};
        }
        check_plan(lives, cycle, plan_memory(lives, cycle));
    }
}

TEST_CASE("memory_plan: lives outside of the cycle") {
    check_throws<ValueError>(
        [] {
            plan_memory({{64, 4, 1}}, 4);
        },
        "plan_memory: a block cannot live for 1 moments from moment 4 of 4");
    check_throws<ValueError>(
        [] {
            plan_memory({{64, 0, 5}}, 4);
        },
        "plan_memory: a block cannot live for 5 moments from moment 0 of 4");
    check_throws<ValueError>(
        [] {
            plan_memory({{64, 0, 0}}, 4);
        },
        "plan_memory: a block cannot live for 0 moments from moment 0 of 4");
}
