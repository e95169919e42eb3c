#include <tapestry/autograd/print.h>

#include <tapestry/core/text/message.h>
#include <tapestry/core/text/text_table.h>

#include <array>

namespace tapestry {

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    constexpr std::array<const char*, 4> kUnits{"KB", "MB", "GB", "TB"};
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 999.95 && unit + 1 < kUnits.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string to_string(const Tape& tape) {
    std::unordered_map<int, std::int64_t> producers;  // the entry that gave each slot
    const auto entry_of = [&](int slot) {
        const auto found = producers.find(slot);
        return found == producers.end() ? -1 : found->second;
    };
    std::vector<std::vector<std::string>> rows{{"#", "op", "module", "inputs -> outputs", "saved"}};
    for (std::size_t i = 0; i < tape.entries().size(); ++i) {
        const Op& op = *tape.entries()[i];
        const std::string settings = op.attributes();
        rows.push_back({std::to_string(i),
                        settings.empty() ? op.name() : fmt::format("{} ({})", op.name(), settings),
                        op.module_path(), flow_text(op.inputs(), op.outputs(), entry_of),
                        op.released() ? "released" : bytes_text(op.saved_bytes())});
        for (const auto& y : op.outputs()) producers.emplace(y.slot, static_cast<std::int64_t>(i));
    }
    return fmt::format("tape: {}, {} saved for backward\n{}",
                       pluralize(std::ssize(tape.entries()), "operation"),
                       bytes_text(tape.saved_bytes()), terminal::text_table(rows, "rlllr", "  "));
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Tape>::format(const tapestry::Tape& tape,
                                                     fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::to_string(tape));
}
