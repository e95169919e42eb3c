#include <tapestry/examples/school/playground/op_trace.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/views.h>

#include <fmt/format.h>

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

void write_number(JsonWriter& json, double x) {
    if (std::isfinite(x)) {
        json.value(x);
    } else {  // JSON has no NaN or infinity: as the page's script reads them
        json.value(std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    }
}

void write(JsonWriter& json, std::string_view name, const std::vector<Corner>& corners) {
    json.list(name, corners, [&](const Corner& corner) {
        json.object([&] {
            json.member("columns", corner.columns);
            json.member("of", corner.of);
            json.member("shape", corner.shape);
            json.list("values", corner.values, [&](double x) { write_number(json, x); });
            json.member("whole", corner.whole);
        });
    });
}

}  // namespace

OpTrace::OpTrace(const Module& model) {
    for (const auto& [name, parameter] : model.named_parameters()) {
        parameters_.emplace(parameter.leaf().get(), name);
    }
}

// Watches only the first tape it sees; a step with gradient accumulation has several.
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
    JsonWriter json;
    json.array([&] {
        for (const TracedOp& op : all_) {
            json.object([&] {
                json.member("back", op.back);
                write(json, "given", op.given);
                write(json, "made", op.made);
                json.member("module", op.module);
                json.member("number", op.number);
                json.member("op", op.op);
                json.member("settings", op.attributes);
            });
        }
    });
    return json.text();
}

}  // namespace tapestry::examples
