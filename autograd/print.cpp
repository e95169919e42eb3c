#include <tapestry/autograd/print.h>

#include <algorithm>
#include <array>

namespace tapestry {
namespace {

constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

// The origin of an operand. `producers`: the entry that computed each slot.
std::string operand_text(const Op::Operand& x,
                         const std::unordered_map<int, std::size_t>& producers) {
    if (x.slot < 0) return fmt::format("constant {}", x.shape);
    const auto found = producers.find(x.slot);
    return found == producers.end() ? fmt::format("leaf {}", x.shape)
                                    : fmt::format("#{} {}", found->second, x.shape);
}

Row row_of(std::size_t number, const Op& op,
           const std::unordered_map<int, std::size_t>& producers) {
    std::string flow;
    for (const auto& x : op.inputs()) {
        flow += (flow.empty() ? "" : ", ") + operand_text(x, producers);
    }
    flow += " ->";
    for (std::size_t i = 0; i < op.outputs().size(); ++i) {
        flow += fmt::format("{} {}", i == 0 ? "" : ",", op.outputs()[i].shape);
    }
    const std::string settings = op.attributes();
    const std::string name =
        settings.empty() ? op.name() : fmt::format("{} ({})", op.name(), settings);
    return {std::to_string(number), name, op.module_path(), flow,
            op.released() ? "released" : bytes_text(op.saved_bytes())};
}

}  // namespace

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
    std::unordered_map<int, std::size_t> producers;
    std::vector<Row> rows{{"#", "op", "module", "inputs -> outputs", "saved"}};
    for (std::size_t i = 0; i < tape.entries().size(); ++i) {
        const Op& op = *tape.entries()[i];
        rows.push_back(row_of(i, op, producers));
        for (const auto& y : op.outputs()) producers.emplace(y.slot, i);
    }
    std::array<std::size_t, kColumns> widths{};
    for (const Row& row : rows) {
        for (std::size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::string text =
        fmt::format("tape: {} operation{}, {} saved for backward\n", tape.entries().size(),
                    tape.entries().size() == 1 ? "" : "s", bytes_text(tape.saved_bytes()));
    for (const Row& row : rows) {
        text +=
            fmt::format("{:>{}}  {:<{}}  {:<{}}  {:<{}}  {:>{}}\n", row[0], widths[0] + 2, row[1],
                        widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4]);
    }
    return text;
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Tape>::format(const tapestry::Tape& tape,
                                                     fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::to_string(tape));
}
