// Inspector: one training step, looked at while it happens. It watches a tape from outside and
// writes down, of every entry, what went in and out, forward and backward; what was alive when;
// where heads of attention looked. Without one nothing is done anywhere: it costs nothing.
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

#include <chrono>
#include <functional>
#include <optional>
#include <unordered_map>

namespace tapestry {

/// What it was before an entry read it: the output of another, a leaf of the model, a leaf that the
/// model does not know, or nothing a gradient could flow to.
enum class InputKind { computed, parameter, leaf, constant };

/// A tensor that an entry read.
struct InspectedInput {
    int slot = -1;  ///< where its gradient goes: see Inspector::place; -1: nowhere
    Shape shape;
    DType dtype = DType::f32;
    bool defined = true;
    /// Why no gradient flows to it: "integer input", "boolean input", "detached",
    /// "constant: no gradient asked for", or the entry's own reason; empty if one did.
    std::string dead_end;
    InputKind kind = InputKind::constant;
    std::string name = {};        ///< "#12 matmul", "blocks.0.norm.weight", "a leaf", "a constant"
    ValueStatistics values = {};  ///< empty for integers and truth values
};

struct InspectedOutput {
    int slot = -1;
    Shape shape;
    DType dtype = DType::f32;
    ValueStatistics values;
    std::optional<ValueStatistics> gradient;  ///< complete, as it came to the entry's rule
};

struct InspectedEntry {
    std::string name;        ///< "linear"
    std::string attributes;  ///< "axis=-1"
    std::string module;      ///< "blocks.3.feed_forward.up"
    std::vector<InspectedInput> inputs = {};
    std::vector<InspectedOutput> outputs = {};
    std::size_t saved_bytes = 0;  ///< that it kept for its rule, the memory of others included
    ProfiledWork forward = {};    ///< counted as the profiler does
    ProfiledWork backward = {};
    int step = -1;                         ///< its place in the walk back; -1: was not walked
    std::optional<UnitCounts> units = {};  ///< of an activation function that was walked
    /// Why it was not walked: "no gradient: not on a path to the loss", or "... to nothing whose
    /// gradient was asked for"; empty if it was.
    std::string dead_end = {};
};

/// One rule that ran on the way back.
struct WalkStep {
    int entry = -1;
    std::vector<int> used = {};       ///< slots whose cotangents it took, which then are gone
    std::vector<int> arrived = {};    ///< slots that had none and now have one
    std::size_t cotangent_bytes = 0;  ///< of all that exist after it
    std::size_t freed_bytes = 0;      ///< of memory that nobody held any more after it
};

/// Where a gradient can stand: at an output of an entry, or at a leaf.
struct GradientPlace {
    int entry = -1;
    int output = 0;
    std::string leaf;  ///< its name, where there is no entry
    std::size_t bytes = 0;
};

struct InspectedParameter {
    std::string name;
    Shape shape;
    ValueStatistics values;
    Log2Histogram value_histogram;
    std::optional<ValueStatistics> gradient = {};
    Log2Histogram gradient_histogram = {};
    std::string dead_end = {};  ///< why it has no gradient; empty if it has one
};

/// Watches the tapes of this thread from construction to finish(); one tape, that of the first
/// operation it is told of. Gradients are taken to have been cleared before.
///
/// Times are from one event to the next without the Inspector's own, which looks at every number;
/// what it has looked at lies in a cache afterwards, so small operations seem faster than they are
/// (tapestry profile measures without looking). Entries that are recomputed appear as they first
/// ran and once more, at the end, as they were computed again.
class Inspector final : public TapeObserver {
public:
    /// Parameters get their names from `model`, which must live until finish().
    explicit Inspector(const Module& model, MachinePeak peak = {});

    /// After the walk back: looks at parameters and their gradients, and says why others have
    /// none. Watches no longer.
    void finish();

    const std::vector<InspectedEntry>& entries() const { return entries_; }
    const std::vector<WalkStep>& walk() const { return walk_; }
    const std::vector<AttentionTrace>& attention() const { return attention_; }
    /// Of the step's first cross-entropy, if there was one.
    const std::optional<PredictionTrace>& predictions() const { return predictions_; }
    /// What became of its tokens on the way to these predictions; without them, nothing.
    const TokenPath& token_path() const { return token_path_; }
    const std::vector<InspectedParameter>& parameters() const { return parameters_; }
    /// Time t < entries().size() is that of entry t, when it was recorded; then the walk's steps
    /// follow, if no entry was recorded in between.
    const MemoryTrace& memory() const { return memory_; }
    /// The first NaN or infinity of the step, if there was one.
    const std::optional<NonFinite>& non_finite() const { return non_finite_.found(); }
    const GradientPlace& place(int slot) const { return places_.at(slot); }

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walking(const Op& op) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    bool is_watched(const Tensors& outputs);
    double lap() const;
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
    std::uint64_t tape_ = 0;
    Clock::time_point last_;
    std::unordered_map<const Leaf*, std::string> leaf_names_;
    std::unordered_map<const Op*, int> numbers_;
    std::unordered_map<int, GradientPlace> places_;         // by slot
    std::unordered_map<int, ValueStatistics> leaf_values_;  // by slot
    std::unordered_map<int, std::size_t> cotangents_;       // slots that have one, and its bytes
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

// What `tapestry inspect` and the tasks with --page show.

class WatchedStep {
public:
    /// Takes the step on what `loss` computes, in evaluation mode, so that nothing is dropped; the
    /// weights stay as they are. Another step before it goes unwatched: memory and caches are then
    /// as in any later one.
    /// `products` is what most of them are of: shares are told of its peak.
    WatchedStep(Module& model, const std::function<Tensor()>& loss, DType products = DType::f32);

    const Inspector& inspector() const { return *inspector_; }
    double loss() const { return loss_; }
    /// Of all attentions together.
    std::int64_t heads() const;

private:
    std::optional<Inspector> inspector_;
    double loss_ = 0;
};

}  // namespace tapestry
