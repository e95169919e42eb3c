// Inspector: records everything about one training step. It observes a tape from outside and notes,
// for every entry, its inputs and outputs, forward and backward; which memory was alive when; and
// where attention heads looked. Without an Inspector none of this costs anything.
//
//     Inspector inspector(model, measure_peak());
//     {
//         Tape tape;
//         tape.backward(model.loss(ids, targets));
//         inspector.finish();
//     }
//     write_file_atomically("page.html", to_html(inspector, {.title = "my model"}));
//
// Read next: nn/pages/page.h, which makes the page; memory_trace.h, attention_trace.h,
// prediction_trace.h, token_path.h, non_finite.h and gradient_flow.h, its parts.
#pragma once

#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/attention_trace.h>
#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/inspect/memory_trace.h>
#include <tapestry/nn/inspect/non_finite.h>
#include <tapestry/nn/inspect/prediction_trace.h>
#include <tapestry/nn/inspect/statistics.h>
#include <tapestry/nn/inspect/token_path.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/recorded.h>

#include <functional>
#include <optional>
#include <unordered_map>

namespace tapestry {

/// Where an input came from: another entry's output, a leaf of the model, another leaf, or a tensor
/// without a gradient.
enum class InputKind {
    computed,   ///< another entry's output
    parameter,  ///< a leaf of the model
    leaf,       ///< another leaf
    constant    ///< a tensor without a gradient
};

/// A tensor that an entry read.
struct InspectedInput {
    int slot = -1;             ///< where its gradient goes (Inspector::place); -1: nowhere
    Shape shape;               ///< of the tensor
    DType dtype = DType::f32;  ///< of the tensor
    bool defined = true;       ///< false: an optional input that was not given
    /// Why no gradient flows to it: "integer input", "boolean input", "frozen", "detached",
    /// "constant: no gradient asked for", or the entry's own reason; empty if one did.
    std::string dead_end;
    InputKind kind = InputKind::constant;  ///< where it comes from
    std::string name = {};        ///< "#12 matmul", "blocks.0.norm.weight", "a leaf", "a constant"
    ValueStatistics values = {};  ///< empty for i64 and bool
};

/// A tensor that an entry computed.
struct InspectedOutput {
    int slot = -1;                            ///< its place (Inspector::place)
    Shape shape;                              ///< of the tensor
    DType dtype = DType::f32;                 ///< of the tensor
    ValueStatistics values;                   ///< its elements in numbers
    std::optional<ValueStatistics> gradient;  ///< complete, as the backward rule received it
};

/// One operation of the step.
struct InspectedEntry {
    std::string name;                           ///< "linear"
    std::string attributes;                     ///< "axis=-1"
    std::string module;                         ///< "blocks.3.feed_forward.up"
    std::vector<InspectedInput> inputs = {};    ///< in the op's order
    std::vector<InspectedOutput> outputs = {};  ///< in the op's order
    std::size_t saved_bytes = 0;  ///< kept for its backward rule, including memory of other tensors
    ProfiledWork forward = {};    ///< counted as in the profiler
    ProfiledWork backward = {};   ///< of its backward rule
    int step = -1;                ///< index in the backward pass; -1: not run
    std::optional<UnitCounts> units = {};  ///< of an activation function in the backward pass
    /// Why the backward pass skipped it: "no gradient: not on a path to the loss", or "... to
    /// nothing whose gradient was asked for"; empty if it did not.
    std::string dead_end = {};
};

/// One backward rule that ran.
struct WalkStep {
    int entry = -1;                   ///< index into Inspector::entries()
    std::vector<int> used = {};       ///< slots whose cotangents it consumed
    std::vector<int> arrived = {};    ///< slots that received their first cotangent
    std::size_t cotangent_bytes = 0;  ///< of all cotangents that exist after it
    std::size_t freed_bytes = 0;      ///< of memory freed after it
};

/// Where a gradient can be: an entry's output, or a leaf.
struct GradientPlace {
    int entry = -1;         ///< index into Inspector::entries(); -1: a leaf
    int output = 0;         ///< which of the entry's outputs
    std::string leaf;       ///< its name, if there is no entry
    std::size_t bytes = 0;  ///< size of the gradient
};

/// A parameter of the model after the backward pass.
struct InspectedParameter {
    std::string name;                              ///< "blocks.0.norm.weight"
    Shape shape;                                   ///< of the parameter
    ValueStatistics values;                        ///< its elements in numbers
    Log2Histogram value_histogram;                 ///< of the magnitudes of its elements
    std::optional<ValueStatistics> gradient = {};  ///< its gradient in numbers, if it has one
    /// Magnitudes of its gradient's elements; empty if it has none.
    Log2Histogram gradient_histogram = {};
    std::string dead_end = {};  ///< why it has no gradient; empty if it has one
};

/// Observes the tapes of this thread from construction to finish(): only the tape of the first
/// operation it sees. Assumes that gradients were cleared before.
///
/// Times are measured between events, excluding the Inspector's own time. It reads every number, so
/// these are then in a cache and small operations seem faster than they are (tapestry profile
/// measures without this). Recomputed entries appear as they first ran, and again at the end, as
/// they were recomputed.
class Inspector final : public TapeObserver {
public:
    /// `model` provides the parameters' names, and must live until finish().
    explicit Inspector(const Module& model, MachinePeak peak = {});

    /// Call after the backward pass: examines parameters and their gradients, finds the reasons for
    /// missing ones, and stops observing.
    void finish();

    /// Every recorded operation, in order.
    const std::vector<InspectedEntry>& entries() const { return entries_; }
    /// The backward rules, in the order in which they ran.
    const std::vector<WalkStep>& walk() const { return walk_; }
    /// The attention entries, in order, for sequence 0 of the batch.
    const std::vector<AttentionTrace>& attention() const { return attention_; }
    /// Predictions of the step's first cross-entropy, if there was one.
    const std::optional<PredictionTrace>& predictions() const { return predictions_; }
    /// How its tokens' vectors led to these predictions; empty without predictions.
    const TokenPath& token_path() const { return token_path_; }
    /// In the order of named_parameters().
    const std::vector<InspectedParameter>& parameters() const { return parameters_; }
    /// Time t < entries().size() is the recording of entry t; the steps of the backward pass
    /// follow, unless an entry was recorded in between.
    const MemoryTrace& memory() const { return memory_; }
    /// The first NaN or infinity of the step, if there was one.
    const std::optional<NonFinite>& non_finite() const { return non_finite_.found(); }
    /// Where gradients of this slot go. Throws std::out_of_range for an unknown slot.
    const GradientPlace& place(int slot) const { return places_.at(slot); }

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walking(const Op& op) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    bool is_watched(const Tensors& outputs);
    InspectedInput input_of(const Op::Operand& operand, const Tensor& x);
    void describe(InspectedInput& input, const Tensor& x);
    void see_gradients(const Op& op, int entry, const Tensors& incoming, const Tensors& outgoing);
    std::string leaf_name(const Tensor& x) const;
    void see_attention(const Op& op, const Tensors& inputs, int entry);
    void see_attention_output(const Op& op, const Tensors& inputs);
    void see_predictions(const Op& op, const Tensors& inputs, int entry);
    void see_path(const Op& op, const Tensors& inputs, const Tensors& outputs, int entry);
    int source_of(int slot, const std::string& module) const;
    void settle_step();
    void look_at_parameters();
    void find_dead_ends();

    const Module* model_;
    MachinePeak peak_;
    bool finished_ = false;
    std::optional<WholeLogits> whole_logits_{std::in_place};  // until finish()
    std::uint64_t tape_ = 0;
    Clock::time_point last_;
    std::unordered_map<const Leaf*, std::string> leaf_names_;
    std::unordered_map<const Op*, int> numbers_;
    std::unordered_map<int, GradientPlace> places_;         // by slot
    std::unordered_map<int, ValueStatistics> leaf_values_;  // by slot
    std::unordered_map<int, std::size_t> cotangents_;       // bytes of each slot's cotangent
    std::vector<InspectedEntry> entries_;
    std::vector<WalkStep> walk_;
    std::vector<AttentionTrace> attention_;
    LogitLens lens_;
    std::optional<PredictionTrace> predictions_;
    std::optional<TokenPaths> paths_;  // until there are predictions
    TokenPath token_path_;
    std::vector<InspectedParameter> parameters_;
    MemoryTrace memory_;
    NonFiniteFinder non_finite_;
};

// ---- one step of a trained model ----------------------------------------------------------------

// Used by `tapestry inspect` and the tasks with --page.

/// One step of a trained model, watched by an Inspector. The model must outlive it.
class WatchedStep {
public:
    /// Takes a step on `loss` in evaluation mode, so without dropout; the weights are unchanged. An
    /// unobserved step precedes it, to bring memory and caches into their steady state. `products`
    /// is the type of most matrix products: shares of peak refer to its peak.
    WatchedStep(Module& model, const std::function<Tensor()>& loss, DType products = DType::f32);

    const Inspector& inspector() const { return *inspector_; }  ///< what it has seen
    double loss() const { return loss_; }                       ///< value of the loss
    /// Total over all attention modules.
    std::int64_t heads() const;

private:
    std::optional<Inspector> inspector_;
    double loss_ = 0;
};

}  // namespace tapestry
