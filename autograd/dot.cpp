#include <tapestry/autograd/dot.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tapestry {
namespace {

std::string escaped(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '"' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

// The numbers on one line: lines of a matrix are joined.
std::string numbers_of(const Tensor& x) {
    std::string text = to_string(x), line;
    for (const char c : text) {
        if (c != '\n') {
            line += c;
        } else if (line.back() != ' ') {
            line += ' ';
        }
    }
    line.erase(
        std::unique(line.begin(), line.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
        line.end());
    return line;
}

std::string listed(const Tensors& tensors) {
    std::string text;
    for (const Tensor& x : tensors) {
        text += (text.empty() ? "" : ", ") + (x.defined() ? numbers_of(x) : std::string("none"));
    }
    return text;
}

}  // namespace

std::string to_dot(const Tape& tape) {
    std::unordered_map<int, std::size_t> producers;  // the entry that gave each slot
    std::unordered_map<int, std::size_t> leaves;     // numbers of slots that no entry gave
    std::string text = "digraph tape {\n    rankdir=LR\n    node [shape=box]\n";
    for (std::size_t i = 0; i < tape.entries().size(); ++i) {
        const Op& op = *tape.entries()[i];
        const std::string where = op.module_path();
        text += fmt::format("    op{} [label=\"#{} {}{}{}\"]\n", i, i, escaped(op.name()),
                            where.empty() ? "" : "\\n", escaped(where));
        for (const Op::Operand& x : op.inputs()) {
            if (x.slot < 0) continue;
            const auto from = producers.find(x.slot);
            std::string name;
            if (from != producers.end()) {
                name = fmt::format("op{}", from->second);
            } else {
                const auto [leaf, is_new] = leaves.emplace(x.slot, leaves.size());
                name = fmt::format("leaf{}", leaf->second);
                if (is_new) {
                    text +=
                        fmt::format("    {} [label=\"leaf {}\", shape=ellipse]\n", name, x.shape);
                }
            }
            text += fmt::format("    {} -> op{} [label=\"{}\"]\n", name, i, x.shape);
        }
        for (const Op::Operand& y : op.outputs()) producers.emplace(y.slot, i);
    }
    return text + "}\n";
}

void TapeNumbers::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    text_ +=
        fmt::format("#{} {}: {} -> {}\n", op.number(), op.name(), listed(inputs), listed(outputs));
}

void TapeNumbers::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    text_ += fmt::format("gradient of #{} {}: {} -> {}\n", op.number(), op.name(), listed(incoming),
                         listed(outgoing));
}

}  // namespace tapestry
