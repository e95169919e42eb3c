#include <tapestry/nn/inspect/inspector.h>

#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/ops/machine_peak.h>

#include <utility>

namespace tapestry {

Inspector::Inspector(const Module& model, MachinePeak peak)
    : model_(&model), peak_(std::move(peak)) {
    std::int64_t numbers = 0;
    for (const auto& [name, parameter] : model.named_parameters()) {
        numbers += parameter.numel();
        if (parameter.leaf()) leaf_names_.emplace(parameter.leaf().get(), name);
        memory_.see(parameter, name, MemoryKind::parameter, -1);
    }
    paths_.emplace(numbers);
    last_ = Clock::now();
}

bool Inspector::is_watched(const Tensors& outputs) {
    if (finished_ || outputs.empty()) return false;
    const std::uint64_t tape = outputs.front().tape_ref().tape;
    if (tape_ == 0) tape_ = tape;
    return tape == tape_;
}

std::string Inspector::leaf_name(const Tensor& x) const {
    const auto found = leaf_names_.find(x.leaf().get());
    return found == leaf_names_.end() ? "a leaf" : found->second;
}

// A leaf's contents do not change within a step, so they are examined once.
void Inspector::describe(InspectedInput& input, const Tensor& x) {
    const auto place = places_.find(input.slot);
    if (input.slot < 0) {
        const auto frozen = leaf_names_.find(x.leaf().get());
        input.name = frozen == leaf_names_.end() ? "a constant" : frozen->second;
        if (is_floating(x.dtype())) input.values = statistics_of(x);
    } else if (place == places_.end()) {  // the tape is older than the Inspector
        input.name = "computed before";
        input.values = statistics_of(x);
    } else if (place->second.entry < 0) {
        input.name = place->second.leaf;
        input.kind = leaf_names_.contains(x.leaf().get()) ? InputKind::parameter : InputKind::leaf;
        const auto [at, is_new] = leaf_values_.try_emplace(input.slot);
        if (is_new) at->second = statistics_of(x);
        input.values = at->second;
    } else {
        const auto entry = static_cast<std::size_t>(place->second.entry);
        input.kind = InputKind::computed;
        input.name = fmt::format("#{} {}", entry, entries_[entry].name);
        input.values =
            entries_[entry].outputs[static_cast<std::size_t>(place->second.output)].values;
    }
}

InspectedInput Inspector::input_of(const Op::Operand& operand, const Tensor& x) {
    InspectedInput input{operand.slot, operand.shape, operand.dtype, x.defined(), {}};
    if (!x.defined()) return input;
    if (operand.slot >= 0) {
        if (x.requires_grad()) {
            places_.try_emplace(operand.slot, GradientPlace{-1, 0, leaf_name(x), x.bytes()});
            memory_.see(x, leaf_name(x), MemoryKind::parameter, -1);
        }
    } else if (!is_floating(x.dtype())) {
        input.dead_end = x.dtype() == DType::boolean ? "boolean input" : "integer input";
    } else if (leaf_names_.contains(x.leaf().get())) {
        input.dead_end = "frozen";
    } else {
        input.dead_end = memory_.knows(x) ? "detached" : "constant: no gradient asked for";
    }
    describe(input, x);
    return input;
}

void Inspector::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    const double seconds = seconds_since(last_);
    if (!is_watched(outputs)) return;
    memory_.sweep();
    memory_.advance();
    const auto number = static_cast<int>(entries_.size());
    numbers_[&op] = number;
    InspectedEntry entry{.name = op.name(),
                         .attributes = op.attributes(),
                         .module = op.module_path(),
                         .saved_bytes = op.saved_bytes()};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        entry.inputs.push_back(input_of(op.inputs()[i], inputs[i]));
        if (entry.inputs.back().slot < 0) {
            memory_.see(inputs[i], "input of " + op.name(), MemoryKind::input, -1);
        }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Tensor& y = outputs[i];
        const int slot = op.outputs()[i].slot;
        entry.outputs.push_back({slot, y.shape(), y.dtype(), statistics_of(y), {}});
        places_[slot] = {number, static_cast<int>(i), {}, y.bytes()};
        memory_.see(y, op.name(), MemoryKind::activation, number);
    }
    const OpWork work = forward_work(op, inputs, outputs);
    entry.forward = {1, seconds, work.flops, work.bytes,
                     peak_.least_seconds(work.flops, work.bytes)};
    non_finite_.recorded(entry, number);
    entries_.push_back(std::move(entry));
    see_path(op, inputs, outputs, number);
    see_attention(op, inputs, number);
    see_attention_output(op, inputs);
    see_predictions(op, inputs, number);
    last_ = Clock::now();
}

// The slot outside `module` from which this one was computed: follows first inputs, from a
// projected and split query to the vectors that were projected.
int Inspector::source_of(int slot, const std::string& module) const {
    for (auto at = places_.find(slot); at != places_.end() && at->second.entry >= 0;) {
        const InspectedEntry& entry = entries_[static_cast<std::size_t>(at->second.entry)];
        if (!entry.module.starts_with(module) || entry.inputs.empty()) break;
        slot = entry.inputs.front().slot;
        at = places_.find(slot);
    }
    return slot;
}

void Inspector::see_attention(const Op& op, const Tensors& inputs, int entry) {
    const auto options = recorded_attention(op);
    if (!options) return;
    // A window's blocks [B, N, H, b, D] are no map of the whole sequence, as [B, H, T, D] is.
    if (inputs.at(0).rank() > 4) return;
    AttentionTrace trace = trace_attention(inputs, *options);
    trace.entry = entry;
    trace.module = op.module_path();
    // Without module paths everything would seem to be inside; then assume self-attention.
    trace.cross = !trace.module.empty() && source_of(op.inputs()[0].slot, trace.module) !=
                                               source_of(op.inputs()[1].slot, trace.module);
    attention_.push_back(std::move(trace));
}

// The first linear layer, in an attention's module, that reads its heads' output.
void Inspector::see_attention_output(const Op& op, const Tensors& inputs) {
    if (attention_.empty() || op.name() != "linear") return;
    AttentionTrace& trace = attention_.back();
    const Tensor& weight = inputs[1];
    if (!trace.output.empty() || trace.module.empty() ||
        !op.module_path().starts_with(trace.module + '.') ||
        weight.size(1) != trace.heads * trace.value_dim) {
        return;
    }
    trace.output = weight.detach().to_vector<float>();
    if (inputs.size() > 2 && inputs[2].defined())
        trace.output_bias = inputs[2].detach().to_vector<float>();
}

void Inspector::see_path(const Op& op, const Tensors& inputs, const Tensors& outputs, int entry) {
    if (!paths_) return;
    paths_->recorded(op, inputs, outputs, entry);
    if (!recorded_cross_entropy(op)) return;
    token_path_ = paths_->to(op.inputs()[0].slot);
    paths_.reset();
}

void Inspector::see_predictions(const Op& op, const Tensors& inputs, int entry) {
    if (predictions_) return;
    lens_.recorded(op, inputs);
    const auto asked = recorded_cross_entropy(op);
    if (!asked) return;
    predictions_ = trace_predictions(op, inputs[0], *asked, lens_);
    predictions_->entry = entry;
    lens_.clear();
}

// Attributes memory freed since the last rule ran to its step.
void Inspector::settle_step() {
    memory_.sweep();
    if (!walk_.empty()) walk_.back().freed_bytes = memory_.freed_at(memory_.time());
}

void Inspector::walking(const Op& op) {
    if (finished_ || !numbers_.contains(&op)) return;
    settle_step();
    memory_.advance();
    last_ = Clock::now();
}

// The page's data on gradients, other than statistics.
void Inspector::see_gradients(const Op& op, int number, const Tensors& incoming,
                              const Tensors& outgoing) {
    InspectedEntry& entry = entries_[static_cast<std::size_t>(number)];
    std::vector<NonFiniteFinder::RuleGradient> made;
    for (std::size_t i = 0; i < outgoing.size() && !non_finite_.found(); ++i) {
        if (!op.needs(i) || !outgoing[i].defined()) continue;
        made.push_back({i, statistics_of(outgoing[i])});
    }
    non_finite_.walked(entry, number, made);
    if (is_activation(op) && op.needs(0) && outgoing[0].defined()) {
        entry.units = count_units(incoming[0], outgoing[0]);
    }
}

void Inspector::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    const double seconds = seconds_since(last_);
    const auto found = numbers_.find(&op);
    if (finished_ || found == numbers_.end()) return;
    memory_.note_bytes();
    InspectedEntry& entry = entries_[static_cast<std::size_t>(found->second)];
    entry.step = static_cast<int>(walk_.size());
    WalkStep step{.entry = found->second};
    for (std::size_t i = 0; i < incoming.size(); ++i) {
        const int slot = entry.outputs[i].slot;
        if (!incoming[i].defined()) continue;
        entry.outputs[i].gradient = statistics_of(incoming[i]);
        if (i == 0) add_token_gradient(token_path_, found->second, incoming[i]);
        memory_.see(incoming[i], "gradient of " + entry.name, MemoryKind::gradient, found->second);
        cotangents_.erase(slot);
        step.used.push_back(slot);
    }
    for (std::size_t i = 0; i < outgoing.size(); ++i) {
        const int slot = entry.inputs[i].slot;
        if (slot < 0 || !op.needs(i) || !outgoing[i].defined()) continue;
        const GradientPlace& to = places_[slot];
        const std::string of =
            to.entry < 0 ? to.leaf : entries_[static_cast<std::size_t>(to.entry)].name;
        memory_.see(outgoing[i], "gradient of " + of, MemoryKind::gradient, to.entry);
        if (cotangents_.emplace(slot, outgoing[i].bytes()).second) step.arrived.push_back(slot);
    }
    for (const auto& [slot, bytes] : cotangents_) step.cotangent_bytes += bytes;
    walk_.push_back(std::move(step));
    see_gradients(op, found->second, incoming, outgoing);
    const OpWork work = backward_work(op, incoming, outgoing);
    entry.backward = {1, seconds, work.flops, work.bytes,
                      peak_.least_seconds(work.flops, work.bytes)};
}

// ---- after the step -----------------------------------------------------------------------------

// Parameters, their gradients, and the reasons for missing ones.

void Inspector::finish() {
    if (finished_) return;
    settle_step();
    finished_ = true;
    whole_logits_.reset();
    find_dead_ends();
    look_at_parameters();
    numbers_.clear();
    lens_.clear();
    paths_.reset();
}

// Entries that no cotangent reached, and those with no input that needs a gradient.
void Inspector::find_dead_ends() {
    const bool walked = !walk_.empty();
    for (InspectedEntry& entry : entries_) {
        if (entry.step >= 0) continue;
        bool reached = false;
        for (const InspectedOutput& y : entry.outputs) {
            reached = reached || cotangents_.contains(y.slot);
        }
        entry.dead_end = !walked   ? "no gradient: backward did not run"
                         : reached ? "no gradient: leads to nothing whose gradient was asked for"
                                   : "no gradient: not on a path to the loss";
        for (InspectedInput& x : entry.inputs) {
            if (x.defined && x.dead_end.empty()) x.dead_end = entry.dead_end;
        }
    }
}

void Inspector::look_at_parameters() {
    std::unordered_map<std::string, bool> used;
    for (const auto& [slot, place] : places_) used[place.leaf] = true;
    for (const auto& [name, parameter] : model_->named_parameters()) {
        InspectedParameter seen{.name = name,
                                .shape = parameter.shape(),
                                .values = statistics_of(parameter),
                                .value_histogram = log2_histogram(parameter)};
        if (const Tensor& gradient = parameter.grad(); gradient.defined()) {
            seen.gradient = statistics_of(gradient);
            non_finite_.summed(
                name, {"gradient of " + name, gradient.shape(), gradient.dtype(), *seen.gradient});
            seen.gradient_histogram = log2_histogram(gradient);
        } else if (!parameter.requires_grad()) {
            seen.dead_end = "frozen";
        } else {
            seen.dead_end = used.contains(name) ? "no gradient: not on a path to the loss"
                                                : "no gradient: not used in this step";
        }
        parameters_.push_back(std::move(seen));
    }
}

namespace {

double take(const std::function<Tensor()>& loss) {
    Tape tape;
    const Tensor value = loss();
    tape.backward(value);
    return value.item();
}

}  // namespace

WatchedStep::WatchedStep(Module& model, const std::function<Tensor()>& loss, DType products) {
    model.eval();
    const MachinePeak peak = measure_peak(products);
    take(loss);
    model.zero_grad();
    inspector_.emplace(model, peak);
    loss_ = take(loss);
    inspector_->finish();
}

std::int64_t WatchedStep::heads() const {
    std::int64_t heads = 0;
    for (const AttentionTrace& attention : inspector_->attention()) heads += attention.heads;
    return heads;
}

}  // namespace tapestry
