// After the step: parameters and their gradients, and the reasons of those that have none.
#include <tapestry/nn/inspect/inspector.h>

namespace tapestry {

void Inspector::finish() {
    if (finished_) return;
    settle_step();
    finished_ = true;
    find_dead_ends();
    look_at_parameters();
    numbers_.clear();
    lens_.clear();
    paths_.reset();
}

// Entries that no cotangent reached, and those whose inputs nobody asked about.
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

}  // namespace tapestry
