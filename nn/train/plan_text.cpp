#include <tapestry/nn/train/plan_text.h>

#include <tapestry/core/text/counted.h>

#include <fmt/core.h>

namespace tapestry {
namespace {

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

}  // namespace tapestry
