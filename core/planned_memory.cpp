#include <tapestry/core/planned_memory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/turn_memory.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tapestry {

PlannedMemory::PlannedMemory() : memory_(std::make_unique<detail::TurnMemory>()) {}
PlannedMemory::~PlannedMemory() = default;

PlannedMemory::Report PlannedMemory::report() const { return memory_->report(); }

PlannedMemory::Turn::Turn(PlannedMemory& memory)
    : outer_(std::exchange(detail::current_turn_memory(), nullptr)) {
    memory.memory_->begin_turn();  // what it needs itself is not the turn's
    detail::current_turn_memory() = memory.memory_.get();
}

PlannedMemory::Turn::~Turn() { detail::current_turn_memory() = outer_; }

namespace {

bool initially_planning() {
    const char* text = std::getenv("TAPESTRY_PLAN");
    if (text == nullptr) return false;
    const std::string_view value = text;
    require(value == "0" || value == "1", "TAPESTRY_PLAN={}: neither 0 nor 1", value);
    return value == "1";
}

std::atomic<bool>& planning() {
    static std::atomic<bool> value{initially_planning()};
    return value;
}

}  // namespace

bool planning_enabled() { return planning().load(std::memory_order_relaxed); }

void set_planning(bool enabled) { planning().store(enabled, std::memory_order_relaxed); }

}  // namespace tapestry
