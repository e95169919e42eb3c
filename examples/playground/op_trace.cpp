#include <tapestry/examples/playground/op_trace.h>

#include <tapestry/core/views.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tapestry::examples {
namespace {

Corner corner_of(std::string of, Tensor x) {
    Corner corner{.of = std::move(of), .shape = x.shape()};
    if (x.rank() < 2) x = views::reshape(x, {1, x.numel()});
    while (x.rank() > 2) x = views::select("op trace", x, 0, 0);
    corner.rows = std::min(OpTrace::kMost, x.size(0));
    corner.columns = std::min(OpTrace::kMost, x.size(1));
    x = views::slice(views::slice(x, 0, 0, corner.rows), 1, 0, corner.columns);
    corner.values = x.to_vector<double>();
    corner.whole = numel(corner.shape) == std::ssize(corner.values);
    return corner;
}

nlohmann::json json_of(const Corner& corner) {
    nlohmann::json values = nlohmann::json::array();
    for (const double x : corner.values) {  // JSON knows no other numbers
        values.push_back(std::isfinite(x) ? nlohmann::json(x)
                                          : nlohmann::json(fmt::format("{}", x)));
    }
    return {{"of", corner.of},
            {"shape", std::vector<std::int64_t>(corner.shape.begin(), corner.shape.end())},
            {"columns", corner.columns},
            {"values", std::move(values)},
            {"whole", corner.whole}};
}

nlohmann::json json_of(const std::vector<Corner>& corners) {
    nlohmann::json all = nlohmann::json::array();
    for (const Corner& corner : corners) all.push_back(json_of(corner));
    return all;
}

}  // namespace

OpTrace::OpTrace(const Module& model) {
    for (const auto& [name, parameter] : model.named_parameters()) {
        parameters_.emplace(parameter.leaf().get(), name);
    }
}

// Of the first tape it is told of: a step whose gradients are averaged over batches has more.
bool OpTrace::is_watched(const Tensors& outputs) {
    if (outputs.empty()) return false;
    const std::uint64_t tape = outputs.front().tape_ref().tape;
    if (tape_ == 0) tape_ = tape;
    return tape == tape_;
}

std::string OpTrace::name_of(const Tensor& x, int slot) const {
    if (const auto maker = makers_.find(slot); maker != makers_.end()) return maker->second;
    const auto parameter = parameters_.find(x.leaf().get());
    return parameter == parameters_.end() ? "a constant" : parameter->second;
}

void OpTrace::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    if (!is_watched(outputs)) return;
    TracedOp traced{op.number(), op.name(), op.attributes(), op.module_path()};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        names.push_back(name_of(inputs[i], op.inputs()[i].slot));
        if (inputs[i].defined()) traced.given.push_back(corner_of(names.back(), inputs[i]));
    }
    const std::string self = fmt::format("#{} {}", op.number(), op.name());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string part =
            outputs.size() == 1 ? self : fmt::format("{}, part {}", self, i + 1);
        makers_[op.outputs()[i].slot] = part;
        traced.made.push_back(corner_of(part, outputs[i]));
    }
    inputs_[&op] = std::move(names);
    all_.push_back(std::move(traced));
}

void OpTrace::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    const auto names = inputs_.find(&op);
    if (names == inputs_.end()) return;
    TracedOp traced{op.number(), op.name(), op.attributes(), op.module_path(), true};
    for (std::size_t i = 0; i < incoming.size(); ++i) {
        if (!incoming[i].defined()) continue;
        traced.given.push_back(corner_of(makers_[op.outputs()[i].slot], incoming[i]));
    }
    for (std::size_t i = 0; i < outgoing.size(); ++i) {
        if (!outgoing[i].defined()) continue;
        traced.made.push_back(corner_of(names->second[i], outgoing[i]));
    }
    all_.push_back(std::move(traced));
}

std::string OpTrace::to_json() const {
    nlohmann::json all = nlohmann::json::array();
    for (const TracedOp& op : all_) {
        all.push_back({{"number", op.number},
                       {"op", op.op},
                       {"settings", op.attributes},
                       {"module", op.module},
                       {"back", op.back},
                       {"given", json_of(op.given)},
                       {"made", json_of(op.made)}});
    }
    return all.dump();
}

}  // namespace tapestry::examples
