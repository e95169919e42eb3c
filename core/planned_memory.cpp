#include <tapestry/core/planned_memory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/turn_memory.h>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

constexpr std::size_t kLine = 64;

// Whether there is a moment at which both are needed. If two arcs of a circle intersect, one begins
// within the other.
bool meet(const BlockLife& a, const BlockLife& b, std::size_t cycle) {
    const auto after = [cycle](std::size_t from, std::size_t to) {
        return to >= from ? to - from : to + cycle - from;
    };
    return after(a.from, b.from) < a.length || after(b.from, a.from) < b.length;
}

std::size_t most_at_once(const std::vector<BlockLife>& lives, std::size_t cycle) {
    std::vector<std::int64_t> change(2 * cycle + 1, 0);  // over two laps of the circle
    for (const BlockLife& life : lives) {
        change[life.from] += static_cast<std::int64_t>(life.bytes);
        change[life.from + life.length] -= static_cast<std::int64_t>(life.bytes);
    }
    std::vector<std::int64_t> needed(cycle, 0);
    std::int64_t now = 0;
    for (std::size_t moment = 0; moment < 2 * cycle; ++moment) {
        now += change[moment];
        needed[moment % cycle] += now;
    }
    return static_cast<std::size_t>(*std::max_element(needed.begin(), needed.end()));
}

// Places blocks in the given order, each at the lowest offset that is free while it lives.
class Placement {
public:
    Placement(const std::vector<BlockLife>& lives, std::size_t cycle)
        : lives_(lives), cycle_(cycle) {
        plan_.offsets.resize(lives.size());
        placed_.reserve(lives.size());
    }

    void place(std::size_t block) {
        std::size_t offset = 0;
        for (const std::size_t other : placed_) {  // by offset
            if (!meet(lives_[block], lives_[other], cycle_)) continue;
            const std::size_t start = plan_.offsets[other];
            if (start >= offset + lives_[block].bytes) break;  // the gap before it is wide enough
            offset = std::max(offset, start + lives_[other].bytes);
        }
        plan_.offsets[block] = offset;
        plan_.bytes = std::max(plan_.bytes, offset + lives_[block].bytes);
        const auto behind =
            std::upper_bound(placed_.begin(), placed_.end(), offset,
                             [this](std::size_t o, std::size_t b) { return o < plan_.offsets[b]; });
        placed_.insert(behind, block);
    }

    MemoryPlan take() { return std::move(plan_); }

private:
    const std::vector<BlockLife>& lives_;
    std::size_t cycle_;
    MemoryPlan plan_;
    std::vector<std::size_t> placed_;
};

using Order = std::vector<std::size_t>;

MemoryPlan placed(const std::vector<BlockLife>& lives, std::size_t cycle, const Order& order) {
    Placement placement(lives, cycle);
    for (const std::size_t block : order) placement.place(block);
    return placement.take();
}

using Weight = std::size_t (*)(const BlockLife&);

Order heaviest_first(const std::vector<BlockLife>& lives, Weight weight) {
    Order order(lives.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return weight(lives[a]) > weight(lives[b]);
    });
    return order;
}

// The block that overflowed is placed first on the next attempt.
void advance_highest(const std::vector<BlockLife>& lives, const MemoryPlan& plan, Order& order) {
    const auto highest = std::find_if(order.begin(), order.end(), [&](std::size_t block) {
        return plan.offsets[block] + lives[block].bytes == plan.bytes;
    });
    std::rotate(order.begin(), highest, highest + 1);
}

// The number of attempts for a plan of `blocks` blocks: many if there are few blocks.
std::size_t rounds_for(std::size_t blocks) {
    constexpr std::size_t kPairs = std::size_t{1} << 23;
    return std::clamp<std::size_t>(kPairs / (blocks * blocks), 1, 100);
}

}  // namespace

std::size_t planned_bytes(std::size_t bytes) {
    return std::max(kLine, (bytes + kLine - 1) / kLine * kLine);
}

MemoryPlan plan_memory(const std::vector<BlockLife>& blocks, std::size_t cycle) {
    std::vector<BlockLife> lives = blocks;
    for (BlockLife& life : lives) {
        require(life.from < cycle && life.length >= 1 && life.length <= cycle,
                "plan_memory: a block cannot live for {} moments from moment {} of {}", life.length,
                life.from, cycle);
        life.bytes = planned_bytes(life.bytes);
    }
    if (lives.empty()) return {};
    constexpr Weight kWeights[] = {[](const BlockLife& b) { return b.bytes; },
                                   [](const BlockLife& b) { return b.bytes * b.length; },
                                   [](const BlockLife& b) { return b.length; }};
    const std::size_t least = most_at_once(lives, cycle);
    MemoryPlan plan;
    for (const Weight weight : kWeights) {
        Order order = heaviest_first(lives, weight);
        for (std::size_t round = 0; round < rounds_for(lives.size()); ++round) {
            MemoryPlan next = placed(lives, cycle, order);
            advance_highest(lives, next, order);
            if (plan.offsets.empty() || next.bytes < plan.bytes) plan = std::move(next);
            if (plan.bytes == least) break;
        }
        if (plan.bytes == least) break;
    }
    plan.least = least;
    return plan;
}

PlannedMemory::PlannedMemory() : memory_(std::make_unique<detail::TurnMemory>()) {}
PlannedMemory::~PlannedMemory() = default;

PlannedMemory::Report PlannedMemory::report() const { return memory_->report(); }

PlannedMemory::Turn::Turn(PlannedMemory& memory)
    : outer_(std::exchange(detail::current_turn_memory(), nullptr)) {
    memory.memory_->begin_turn();  // memory that it allocates itself is not part of the turn
    detail::current_turn_memory() = memory.memory_.get();
}

PlannedMemory::Turn::~Turn() {
    detail::current_turn_memory()->end_allocations();
    detail::current_turn_memory() = outer_;
}

namespace {

bool initially_planning() {
    const char* text = std::getenv("TAPESTRY_PLAN");
    if (text == nullptr) return false;
    const std::string_view value = text;
    require(value == "0" || value == "1", "TAPESTRY_PLAN={}: must be 0 or 1", value);
    return value == "1";
}

std::atomic<bool>& planning() {
    static std::atomic<bool> value{initially_planning()};
    return value;
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::string plan_text(const PlannedMemory::Report& report) {
    if (report.blocks == 0) {
        return fmt::format("plan: none ({})\n",
                           report.why_left.empty()
                               ? "no two consecutive steps allocated the same blocks"
                               : report.why_left);
    }
    const std::string left =
        report.left > 0 ? fmt::format(", {} did not ({})", report.left, report.why_left) : "";
    return fmt::format(
        "plan: the {} of a step in {:.2f} MB, at most {:.2f} MB in use at once; {} followed it{}\n",
        pluralize(static_cast<std::int64_t>(report.blocks), "block"), megabytes(report.bytes),
        megabytes(report.least), pluralize(report.followed, "step"), left);
}

bool planning_enabled() { return planning().load(std::memory_order_relaxed); }

void set_planning(bool enabled) { planning().store(enabled, std::memory_order_relaxed); }

}  // namespace tapestry
