// The two halves of recomputation: collapse() replaces the operations recorded by f with one entry,
// expand() puts them back while the walk passes. Both are part of Tape, in a separate file because
// the tape can be understood without them. At the end: recomputation of large outputs of single
// ops.
#include <tapestry/autograd/recompute.h>

#include <tapestry/autograd/op.h>
#include <tapestry/autograd/recomputed_output.h>
#include <tapestry/core/generator_log.h>
#include <tapestry/core/text/message.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tapestry {
namespace {

thread_local int runs = 0;

}  // namespace

RepeatedRun::RepeatedRun() { ++runs; }
RepeatedRun::~RepeatedRun() { --runs; }

bool is_repeated_run() { return runs > 0; }

// ---- a part of the model ------------------------------------------------------------------------

namespace {

using RecomputedFunction = std::function<Tensors(const Tensors&)>;

}  // namespace

// On the tape, its inputs are everything that f used: some of the inputs, and leaves.
class RecomputeOp final : public Op {
public:
    RecomputeOp(const RecomputedFunction& f, const Tensors& inputs,
                const std::vector<GeneratorLog::State>& generators)
        : Op("recompute", inputs), f_(f), count_(inputs.size()), generators_(generators) {}

    std::string attributes() const override {
        return pluralize(static_cast<std::int64_t>(operations_), "operation");
    }
    double flops() const override { return flops_; }

    Tensors run_again() const {
        Tensors inputs;
        for (std::size_t i = 0; i < count_; ++i) inputs.push_back(saved(i));
        const RewindGuard rewound(generators_);
        const RepeatedRun again;
        return f_(inputs);
    }

    // Never called: the tape expands the entry and calls these two on the entries inside.
    Tensors forward(const Tensors& inputs) const override {
        fail<AutogradError>("recompute: cannot run apart from its tape, on {} inputs",
                            inputs.size());
    }
    Tensors backward(const Tensors& grads) override {
        fail<AutogradError>("recompute: no backward rule for {} gradients", grads.size());
    }

private:
    friend class Tape;
    RecomputedFunction f_;
    std::size_t count_;
    std::vector<GeneratorLog::State> generators_;
    std::vector<std::uint64_t> versions_;  // of the inputs
    std::vector<std::size_t> returned_;    // output i is this result of f
    std::size_t operations_ = 0;
    double flops_ = 0;
};

bool Tape::made_since(const Mark& mark, int slot) const {
    const auto i = static_cast<std::size_t>(slot);
    return slot >= 0 && i >= mark.slots && slots_[i].leaf == nullptr;
}

// Tensors read by the entries since then but not computed by them.
std::map<int, Op::Operand> Tape::used_since(const Mark& mark) const {
    std::map<int, Op::Operand> used;
    for (std::size_t i = mark.entries; i < entries_.size(); ++i) {
        for (const Op::Operand& x : entries_[i]->inputs()) {
            if (x.slot >= 0 && !made_since(mark, x.slot)) used.emplace(x.slot, x);
        }
    }
    return used;
}

// Slots are never reused: using a tensor kept from inside is an error.
void Tape::forget_since(const Mark& mark) {
    while (entries_.size() > mark.entries) {
        for (const Op::Operand& y : entries_.back()->outputs()) {
            slots_[static_cast<std::size_t>(y.slot)].forgotten = true;
            slots_[static_cast<std::size_t>(y.slot)].recomputed = nullptr;
            hooks_.erase(y.slot);
        }
        entries_.pop_back();
    }
}

void Tape::collapse(const Mark& from, std::unique_ptr<RecomputeOp> op, const Tensors& inputs,
                    const Tensors& outputs) {
    std::set<int> given;
    for (const Tensor& x : inputs) given.insert(known_slot(x));
    for (const auto& [number, x] : used_since(from)) {
        const Slot& slot = slots_[static_cast<std::size_t>(number)];
        require<AutogradError>(slot.leaf != nullptr || given.count(number) > 0,
                               "recompute: the function uses a tensor {} that was computed outside "
                               "of it and is not among its inputs; pass it as one",
                               x.shape);
        op->operands_.push_back(x);
        op->versions_.push_back(slot.version);
    }
    op->input_count_ = op->operands_.size();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const int slot = known_slot(outputs[i]);
        const bool twice =
            std::ranges::any_of(op->outputs(), [slot](const auto& y) { return y.slot == slot; });
        if (!made_since(from, slot) || twice) continue;  // a returned input stays itself
        op->operands_.push_back({slot, outputs[i].shape(), outputs[i].dtype()});
        op->returned_.push_back(i);
    }
    op->operations_ = entries_.size() - from.entries;
    for (std::size_t i = from.entries; i < entries_.size(); ++i) op->flops_ += entries_[i]->flops();
    op->module_path_ = module_path();
    op->number_ = static_cast<int>(from.entries);
    forget_since(from);
    for (const auto& y : op->outputs()) slots_[static_cast<std::size_t>(y.slot)].forgotten = false;
    if (!op->outputs().empty()) entries_.push_back(std::move(op));
}

// Records the operations that the entry represents, at the end of the tape. Returns the slots of
// its outputs in this run.
std::vector<int> Tape::run_again(const RecomputeOp& op, const Mark& mark) {
    const Tensors again = [&] {
        const Recording recording(this);
        const ModulePathGuard path(op.module_path_);
        return op.run_again();
    }();
    const std::map<int, Op::Operand> used = used_since(mark);
    bool same =
        entries_.size() - mark.entries == op.operations_ && used.size() == op.inputs().size();
    for (std::size_t i = 0; same && i < op.inputs().size(); ++i) {
        const int slot = op.inputs()[i].slot;
        same = used.count(slot) > 0;
        require<AutogradError>(
            !same || slots_[static_cast<std::size_t>(slot)].version == op.versions_[i],
            "{}: a parameter {} has been changed in place since", op.described(),
            op.inputs()[i].shape);
    }
    std::vector<int> slots;
    for (std::size_t i = 0; same && i < op.outputs().size(); ++i) {
        const Op::Operand& was = op.outputs()[i];
        const std::size_t place = op.returned_[i];
        slots.push_back(place < again.size() ? known_slot(again[place]) : -1);
        same = made_since(mark, slots.back()) && again[place].shape() == was.shape &&
               again[place].dtype() == was.dtype;
    }
    require<AutogradError>(same, "{}: the function recorded different operations when it ran again",
                           op.described());
    return slots;
}

// Transfers the state of the outputs to those of the second run, where the walk continues.
bool Tape::expand(Op& entry, Walk& walk) {
    const auto* op = dynamic_cast<RecomputeOp*>(&entry);
    if (op == nullptr) return false;
    const auto on_path = [&walk](const auto& x) {
        return walk.on_path[static_cast<std::size_t>(x.slot)];
    };
    const auto awaited = [this, &on_path](const auto& y) {
        return on_path(y) || hooks_.count(y.slot) > 0;
    };
    if (std::ranges::none_of(op->inputs(), on_path) &&
        std::ranges::none_of(op->outputs(), awaited)) {
        return true;
    }
    const Mark mark{entries_.size(), slots_.size()};
    const std::vector<int> slots = run_again(*op, mark);
    const std::size_t end = entries_.size();
    walk.cover(slots_.size());
    const auto each_output = [&](auto&& f) {
        for (std::size_t i = 0; i < slots.size(); ++i) f(op->outputs()[i].slot, slots[i]);
    };
    each_output([&](int was, int now) {
        const auto from = static_cast<std::size_t>(was), to = static_cast<std::size_t>(now);
        walk.grads[to] = std::exchange(walk.grads[from], Tensor());
        walk.wanted[to] = walk.on_path[to] = walk.wanted[from];
        if (hooks_.count(was) == 0) return;
        for (const GradientHook& hook : hooks_[was]) hooks_[now].push_back(hook);
    });
    for (const Op::Operand& x : op->inputs()) {  // the first reader is now inside
        int& reader = walk.read_first[static_cast<std::size_t>(x.slot)];
        if (reader == op->number_) reader = -1;
    }
    find_paths(walk, mark.entries);
    walk_back(mark.entries, end, walk, walk.create_graph);
    each_output([&](int was, int now) {
        const auto from = static_cast<std::size_t>(was), to = static_cast<std::size_t>(now);
        if (walk.wanted[from]) walk.grads[from] = std::exchange(walk.grads[to], Tensor());
    });
    if (!walk.create_graph) forget_since(mark);
    return true;
}

void Tape::Walk::cover(std::size_t slots) {
    grads.resize(slots);
    wanted.resize(slots, false);
    on_path.resize(slots, false);
    read_first.resize(slots, -1);
}

Tensors recompute(const RecomputedFunction& f, const Tensors& inputs) {
    Tape* tape = Tape::current();
    if (tape == nullptr) return f(inputs);
    const Tape::Mark mark{tape->entries_.size(), tape->slots_.size()};
    const GeneratorLog log;
    const Tensors outputs = f(inputs);
    tape->collapse(mark, std::make_unique<RecomputeOp>(f, inputs, log.states()), inputs, outputs);
    return outputs;
}

Tensor recompute(const std::function<Tensor(const Tensor&)>& f, const Tensor& input) {
    const RecomputedFunction one = [f](const Tensors& x) { return Tensors{f(x[0])}; };
    return recompute(one, {input})[0];
}

// ---- recomputed outputs -------------------------------------------------------------------------

namespace {

std::uint64_t version_of(const Tensor& x) { return x.defined() ? x.storage()->version() : 0; }

}  // namespace

RecomputedOutput::RecomputedOutput(std::shared_ptr<const Op> op, Tensors inputs,
                                   std::vector<Recomputed> recomputed, const TapeRef& place,
                                   bool is_view)
    : op_(std::move(op)),
      inputs_(std::move(inputs)),
      recomputed_(std::move(recomputed)),
      place_(place),
      is_view_(is_view) {
    for (const Tensor& x : inputs_) versions_.push_back(version_of(x));
}

bool RecomputedOutput::recomputes_inputs() const {
    return std::any_of(recomputed_.begin(), recomputed_.end(), [this](const Recomputed& x) {
        return x != nullptr && (!is_view_ || x->recomputes_inputs());
    });
}

Tensor RecomputedOutput::compute() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        require<AutogradError>(version_of(inputs_[i]) == versions_[i],
                               "{}: its input {}, a tensor {}, has been changed in place since "
                               "(version {}, now {}), so its output cannot be computed again",
                               op_->described(), i, inputs_[i].shape(), versions_[i],
                               version_of(inputs_[i]));
    }
    const NoGradGuard no_grad;
    Tensors inputs = inputs_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (recomputed_[i] != nullptr) inputs[i] = recomputed_[i]->compute();
    }
    Tensor y = op_->forward(inputs)[0];
    y.set_tape_ref(place_);
    return y;
}

// Replaces saved outputs of cheap ops by their recomputation, and registers this op's output for it
// if the op is cheap.
void Tape::note_recomputed(const std::shared_ptr<Op>& op, const TensorRefs& inputs,
                           const TensorRefs& outputs) {
    for (Op::Saved& saved : op->saved_) {
        const TapeRef& place = saved.tensor.tape_ref();
        if (!saved.tensor.defined() || place.tape != number_) continue;
        saved.recomputed = slots_[static_cast<std::size_t>(place.slot)].recomputed;
        if (saved.recomputed != nullptr) saved.tensor = Tensor();
    }
    const auto is_large = [](const Tensor& y) {  // counts narrow elements as f32
        const std::size_t size = size_of(compute_dtype(y.dtype()));
        return static_cast<std::size_t>(y.numel()) * size >= RecomputedOutput::kLarge;
    };
    const auto recomputed_of = [this](const Tensor& x) {
        const bool is_here = x.defined() && x.tape_ref().tape == number_;
        return is_here ? slots_[static_cast<std::size_t>(x.tape_ref().slot)].recomputed : nullptr;
    };
    if (outputs.size() != 1 || !is_large(outputs[0])) return;
    const bool is_view = inputs.size() == 1 && recomputed_of(inputs[0]) != nullptr &&
                         inputs[0].storage() == outputs[0].storage();
    if (!is_view && !op->is_cheap()) return;
    Tensors kept = inputs.copied();
    std::vector<RecomputedOutput::Recomputed> recomputed(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        recomputed[i] = recomputed_of(kept[i]);
        if (recomputed[i] == nullptr) continue;
        if (!is_view && recomputed[i]->recomputes_inputs()) return;
        kept[i] = Tensor();
    }
    const TapeRef& place = outputs[0].tape_ref();
    slots_[static_cast<std::size_t>(place.slot)].recomputed = std::make_shared<RecomputedOutput>(
        op, std::move(kept), std::move(recomputed), place, is_view);
}

}  // namespace tapestry
