#include <tapestry/core/planned_memory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/counted.h>
#include <tapestry/core/turn_memory.h>

#include <fmt/core.h>

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

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::string plan_text(const PlannedMemory::Report& report) {
    if (report.blocks == 0) {
        return fmt::format("plan: none ({})\n", report.why_left.empty()
                                                    ? "no two steps in a row asked for the same"
                                                    : report.why_left);
    }
    const std::string left =
        report.left > 0 ? fmt::format(", {} did not ({})", report.left, report.why_left) : "";
    return fmt::format(
        "plan: the {} of a step in {:.2f} MB, {:.2f} MB being needed at once; {} followed it{}\n",
        counted(static_cast<std::int64_t>(report.blocks), "block"), megabytes(report.bytes),
        megabytes(report.least), counted(report.followed, "step"), left);
}

bool planning_enabled() { return planning().load(std::memory_order_relaxed); }

void set_planning(bool enabled) { planning().store(enabled, std::memory_order_relaxed); }

}  // namespace tapestry
