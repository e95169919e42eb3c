// Identical steps (turns) share one arena; others use the ordinary allocator. Live blocks never
// overlap, whichever thread frees them, and whenever.
#include <tapestry/core/parallel.h>
#include <tapestry/core/planned_memory.h>
#include <tapestry/core/storage.h>
#include <tapestry/tests/core/child.h>
#include <tapestry/tests/core/support.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

using namespace tapestry;
using tapestry::test::kAddressSanitizer;

namespace {

using Block = std::unique_ptr<Storage>;

Block block(std::size_t bytes) { return std::make_unique<Storage>(bytes); }

// A block that outlives its step, like a gradient that the next step frees.
struct Kept {
    Block gradient;
};

// A small step: 1000 bytes for its whole duration, two blocks of 4096 one after the other, and a
// gradient. Returns their addresses.
std::vector<const std::byte*> step(Kept& kept) {
    kept.gradient = nullptr;
    std::vector<const std::byte*> places;
    const Block first = block(1000);
    places.push_back(first->data());
    for (int i = 0; i < 2; ++i) places.push_back(block(4096)->data());
    kept.gradient = block(2048);
    places.push_back(kept.gradient->data());
    return places;
}

void take_steps(PlannedMemory& memory, Kept& kept, int count) {
    for (int i = 0; i < count; ++i) {
        const PlannedMemory::Turn turn(memory);
        step(kept);
    }
}

constexpr std::size_t kFirst = 1024, kMost = kFirst + 4096;  // the gradient uses 2048 of these

}  // namespace

// What a process has used at most decides how much stays cached, so a new one is asked.
TEST_CASE("planned memory child: blocks of two sizes, in a turn and outside" * doctest::skip()) {
    constexpr std::size_t kOne = std::size_t{16} << 20, kOther = std::size_t{14} << 20;
    const auto most_of = [] {
        std::size_t most = 0;
        for (const std::size_t bytes : {kOne, kOther}) {
            std::vector<Block> blocks;  // never touched: uses only address space
            for (int i = 0; i < 40; ++i) {
                blocks.push_back(block(bytes));
                const MemoryStatistics now = memory_statistics();
                most = std::max(most, now.current + now.cached);
            }
        }
        return most / kOne;
    };
    test::answer([&] {
        PlannedMemory memory;
        std::size_t in_turn = 0;
        {
            const PlannedMemory::Turn turn(memory);
            in_turn = most_of();
        }
        return fmt::format("{} {}", in_turn, most_of());
    });
}

TEST_CASE("planned memory: before there is a plan, blocks of other sizes make room") {
    if (kAddressSanitizer) return;
    const auto told =
        test::ask_child("planned memory child: blocks of two sizes*", "NO_COLOR", "1");
    if (told) CHECK_EQ(*told, "40 75");  // of 16 MB; 40 * 14 MB more outside of a turn
}

TEST_CASE("planned memory: turns that are alike lie in the least that they need") {
    PlannedMemory memory;
    Kept kept;
    for (int i = 0; i < 3; ++i) {
        const PlannedMemory::Turn turn(memory);
        CHECK(memory.report().blocks == (i < 2 ? 0 : 4));  // two turns are observed
        step(kept);
    }
    std::vector<const std::byte*> places;
    {
        const PlannedMemory::Turn turn(memory);
        places = step(kept);
    }
    const auto report = memory.report();
    CHECK(report.places == 4);
    CHECK(report.bytes == kMost);
    CHECK(report.least == kMost);
    CHECK(places[1] == places[2]);
    const auto before = memory_statistics();
    for (int i = 0; i < 10; ++i) {
        const PlannedMemory::Turn turn(memory);
        CHECK(step(kept) == places);
    }
    CHECK(memory_statistics().system == before.system);
    CHECK(memory_statistics().current == before.current);
    CHECK(memory.report().followed == 12);
    CHECK(memory.report().left == 0);
}

TEST_CASE("planned memory: a turn counts once, from its end, and not while it may still allocate") {
    PlannedMemory memory;
    Kept kept;
    take_steps(memory, kept, 4);
    CHECK(memory.report().followed == 2);
    CHECK(memory.report().followed == 2);
    {
        const PlannedMemory::Turn turn(memory);
        step(kept);
        CHECK(memory.report().followed == 2);
    }
    CHECK(memory.report().followed == 3);
    {
        const PlannedMemory::Turn turn(memory);
        block(1000);
    }
    for (int i = 0; i < 2; ++i) {
        const auto report = memory.report();
        CHECK(report.followed == 3);
        CHECK(report.left == 1);
        CHECK(report.why_left == "step 6 ended after 1 block; 4 were planned");
    }
    take_steps(memory, kept, 1);
    CHECK(memory.report().followed == 4);
    CHECK(memory.report().left == 1);
}

TEST_CASE("planned memory: between turns, places that are empty can be returned to the system") {
    constexpr std::size_t kLarge = std::size_t{64} << 20;
    PlannedMemory memory;
    Block gradient;
    const auto large_step = [&] {
        const PlannedMemory::Turn turn(memory);
        gradient = nullptr;
        const Block activations = block(kLarge);
        std::memset(activations->data(), 1, kLarge);
        gradient = block(kLarge / 64);
        std::memset(gradient->data(), 7, kLarge / 64);
    };
    for (int i = 0; i < 5; ++i) large_step();
    const auto resident = [] {
        std::ifstream status("/proc/self/statm");
        std::size_t all = 0, pages = 0;
        status >> all >> pages;
        return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    };
    const std::size_t before = resident();
    release_cached_memory();
    const std::size_t after = resident();
    if (before > 0 && !kAddressSanitizer) CHECK(before - after > kLarge / 8 * 7);
    const std::byte* const data = gradient->data();
    CHECK(std::all_of(data, data + kLarge / 64, [](std::byte x) { return x == std::byte{7}; }));
    large_step();
    CHECK(memory.report().left == 0);
    CHECK(memory.report().followed > 0);
}

TEST_CASE("planned memory: a turn that asks for something else, and one that ends too early") {
    PlannedMemory memory;
    Kept kept;
    take_steps(memory, kept, 4);
    {
        const PlannedMemory::Turn turn(memory);
        const Block other = block(999);
        step(kept);
    }
    { const PlannedMemory::Turn turn(memory); }
    take_steps(memory, kept, 2);
    const auto report = memory.report();
    CHECK(report.why_left == "step 5 allocated 999 bytes as block 1; 1000 were planned");
    CHECK(report.left == 2);
    CHECK(report.followed == 4);
    CHECK(report.blocks == 4);  // the plan is kept
}

TEST_CASE("planned memory: after three turns of another kind there is another plan") {
    PlannedMemory memory;
    Kept kept;
    take_steps(memory, kept, 4);
    for (int i = 0; i < 8; ++i) {
        const PlannedMemory::Turn turn(memory);
        const Block more = block(1 << 16);
        step(kept);
    }
    CHECK(memory.report().blocks == 5);
    CHECK(memory.report().bytes == kMost + (1 << 16));
}

TEST_CASE("planned memory: a turn that asks for more blocks than planned") {
    PlannedMemory memory;
    Kept kept;
    take_steps(memory, kept, 4);
    {
        const PlannedMemory::Turn turn(memory);
        step(kept);
        block(1000);
    }
    const auto report = memory.report();
    CHECK(report.left == 1);
    CHECK(report.why_left == "step 5 allocated more than the 4 blocks that were planned");
}

TEST_CASE("planned memory: a block that is kept for longer is not given away") {
    PlannedMemory memory;
    Kept kept;
    std::vector<Block> mine;
    for (int i = 0; i < 20; ++i) {
        const PlannedMemory::Turn turn(memory);
        kept.gradient = nullptr;
        Block first = block(1000);
        std::memset(first->data(), i, 1000);
        const Block second = block(4096);
        std::memset(second->data(), 255, 4096);
        kept.gradient = block(2048);
        std::memset(kept.gradient->data(), 254, 2048);
        if (i == 6 || i == 7 || i == 12) mine.push_back(std::move(first));
    }
    REQUIRE(mine.size() == 3);
    const int written[] = {6, 7, 12};
    for (std::size_t k = 0; k < mine.size(); ++k) {
        for (std::size_t at = 0; at < 1000; ++at) {
            REQUIRE(std::to_integer<int>(mine[k]->data()[at]) == written[k]);
        }
    }
    CHECK(memory.report().left == 0);
}

TEST_CASE("planned memory: blocks outlive the plan, and are released on another thread") {
    const std::size_t before = memory_statistics().current;
    Kept kept;
    {
        PlannedMemory memory;
        take_steps(memory, kept, 5);
        CHECK(memory.report().blocks == 4);
    }
    std::memset(kept.gradient->data(), 1, 2048);
    std::thread([&] { kept.gradient = nullptr; }).join();
    CHECK(memory_statistics().current == before);
    release_cached_memory();
    CHECK(memory_statistics().cached == 0);
}

TEST_CASE("planned memory: other threads, and what lies between turns, are not the turn's") {
    PlannedMemory memory;
    Kept kept;
    for (int i = 0; i < 6; ++i) {
        {
            const PlannedMemory::Turn turn(memory);
            std::thread([&] { block(100 + static_cast<std::size_t>(i)); }).join();
            step(kept);
        }
        block(777 + static_cast<std::size_t>(i));
    }
    CHECK(memory.report().blocks == 4);
    CHECK(memory.report().left == 0);
}

TEST_CASE("planned memory: what the chunks of a loop ask for is not the turn's") {
    for (const int threads : {1, 2}) {
        const ThreadsGuard guard(threads);
        PlannedMemory memory;
        Kept kept;
        for (int i = 0; i < 40; ++i) {
            const PlannedMemory::Turn turn(memory);
            parallel_for_chunks(
                5, [](std::int64_t chunk) { block(100 * static_cast<std::size_t>(chunk)); });
            step(kept);
        }
        CHECK(memory.report().blocks == 4);
        CHECK(memory.report().followed == 38);
    }
}

TEST_CASE("planned memory: a turn of too many blocks has none, and loses nothing by it") {
    if (kAddressSanitizer) return;
    PlannedMemory memory;
    const auto turn_of_many = [&] {
        const PlannedMemory::Turn turn(memory);
        for (int i = 0; i < 9000; ++i) block(64);
    };
    for (int i = 0; i < 3; ++i) turn_of_many();
    const auto before = memory_statistics().system;
    for (int i = 0; i < 3; ++i) turn_of_many();
    CHECK(memory_statistics().system == before);
    CHECK(memory.report().blocks == 0);
    CHECK(memory.report().why_left == "no plan was found for a step of 9000 blocks");
}

TEST_CASE("planned memory: a turn within another is its own") {
    PlannedMemory outer, inner;
    Kept kept, within;
    for (int i = 0; i < 6; ++i) {
        const PlannedMemory::Turn turn(outer);
        {
            const PlannedMemory::Turn other(inner);
            step(within);
        }
        step(kept);
    }
    CHECK(outer.report().blocks == 4);
    CHECK(inner.report().blocks == 4);
    CHECK(outer.report().left + inner.report().left == 0);
}
