#include <tapestry/autograd/tape.h>

#include <tapestry/autograd/leaf_lock.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/op.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/thread_exit.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace tapestry {
namespace {

std::uint64_t next_tape_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

std::shared_ptr<Tape::Life>& Tape::current_life() {
    static thread_local std::shared_ptr<Life>* latest = nullptr;
    std::shared_ptr<Life>& life = of_this_thread(latest);
    while (life && life->tape == nullptr) life = std::shared_ptr<Life>(life->outer);
    return life;
}

Tape* Tape::current() {
    const auto& life = current_life();
    return life ? life->tape.load() : nullptr;
}

Recording::Recording(Tape* tape)
    : outer_(std::exchange(Tape::current_life(), tape ? tape->life_ : nullptr)) {}
Recording::~Recording() { Tape::current_life() = std::move(outer_); }

// ---- recording ----------------------------------------------------------------------------------

Tape::Tape() : number_(next_tape_number()), life_(make_recycled<Life>()) {
    entries_.reserve(64);  // enough for the steps of small models
    slots_.reserve(64);
    life_->tape = this;
    life_->outer = std::exchange(current_life(), life_);
}

Tape::~Tape() { life_->tape = nullptr; }  // its thread notices at the next use of current()

bool Tape::follows(const Tensor& x) const {
    return x.defined() && (x.requires_grad() || x.tape_ref().tape == number_);
}

Tape* Tape::following(const TensorRefs& inputs) {
    Tape* tape = current();
    if (tape == nullptr) return nullptr;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (tape->follows(inputs[i])) return tape;
    }
    return nullptr;
}

void Tape::place_output(Tensor& y) {
    y.set_tape_ref({number_, static_cast<int>(slots_.size())});
    slots_.push_back({y.shape(), y.dtype(), nullptr, y.storage()->version(), false, nullptr});
}

int Tape::known_slot(const Tensor& x) const {
    if (x.requires_grad()) {
        const auto found = leaf_slots_.find(x.leaf().get());
        return found == leaf_slots_.end() ? -1 : found->second;
    }
    if (!x.defined() || x.tape_ref().tape != number_) return -1;
    const int slot = x.tape_ref().slot;
    if (slots_[static_cast<std::size_t>(slot)].forgotten) [[unlikely]] {
        fail<AutogradError>(
            "recompute: the tensor {} was computed inside and is no longer on the tape; return it "
            "from the function",
            x.shape());
    }
    return slot;
}

int Tape::slot_of(const Tensor& x) {
    int slot = known_slot(x);
    if (slot < 0 && x.requires_grad()) {
        slot = static_cast<int>(slots_.size());
        slots_.push_back({x.shape(), x.dtype(), x.leaf(), 0, false, nullptr});
        leaf_slots_.emplace(x.leaf().get(), slot);
    }
    return slot;
}

void Tape::append(std::shared_ptr<Op> op, const TensorRefs& inputs, const TensorRefs& outputs) {
    op->number_ = static_cast<int>(entries_.size());
    op->module_path_ = module_path();
    op->operands_.reserve(inputs.size() + outputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& x = inputs[i];
        const int slot = slot_of(x);
        if (slot >= 0) {
            Slot& place = slots_[static_cast<std::size_t>(slot)];
            const auto now = x.storage()->version();
            if (place.leaf == nullptr && now != place.version) [[unlikely]] {
                fail<AutogradError>(
                    "{}: an input {} has been changed in place after the tape recorded it (version "
                    "{}, now {})",
                    op->described(), x.shape(), place.version, now);
            }
            place.version = now;
        }
        op->operands_.push_back({slot, x.shape(), x.dtype()});
    }
    op->input_count_ = inputs.size();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Tensor& y = outputs[i];
        op->operands_.push_back({y.tape_ref().slot, y.shape(), y.dtype()});
    }
    note_recomputed(op, inputs, outputs);
    entries_.push_back(std::move(op));
    TapeObserver::tell_recorded(*entries_.back(), inputs, outputs);
}

std::size_t Tape::saved_bytes() const {
    std::size_t bytes = 0;
    for (const auto& op : entries_) bytes += op->saved_bytes();
    return bytes;
}

// ---- walking back -------------------------------------------------------------------------------

// Finds the slots of entries from `first` on that depend on a wanted one: gradients only flow
// through these. And the first reader of each slot, which the walk reaches last.
void Tape::find_paths(Walk& walk, std::size_t first) const {
    for (std::size_t i = first; i < entries_.size(); ++i) {
        const auto inputs = entries_[i]->inputs();
        for (const Op::Operand& x : inputs) {
            if (x.slot < 0) continue;
            int& reader = walk.read_first[static_cast<std::size_t>(x.slot)];
            if (reader < 0) reader = static_cast<int>(i);
        }
        const bool any = std::ranges::any_of(inputs, [&](const Op::Operand& x) {
            return x.slot >= 0 && walk.on_path[static_cast<std::size_t>(x.slot)];
        });
        if (!any) continue;
        for (const auto& y : entries_[i]->outputs()) {
            walk.on_path[static_cast<std::size_t>(y.slot)] = true;
        }
    }
}

namespace {

// The first gradient that arrives is moved; later ones are added in place if the memory is not
// shared.
void add_to(Tensor& sum, Tensor grad) {
    if (!sum.defined()) {
        sum = std::move(grad);
    } else if (!is_recording() && sum.owns_alone() && sum.is_contiguous()) {
        accumulate_gradients_in_place(sum, grad);
    } else {
        sum = accumulate_gradients(sum, grad);
    }
}

}  // namespace

// Walks one entry: takes its outputs' gradients and adds to those of its inputs. False if none
// arrived.
bool Tape::step_back(Op& op, Walk& walk) {
    const bool any = std::ranges::any_of(op.outputs(), [&](const auto& y) {
        return walk.grads[static_cast<std::size_t>(y.slot)].defined();
    });
    if (!any || expand(op, walk)) return any;
    Tensors incoming;
    incoming.reserve(op.outputs().size());
    for (const auto& y : op.outputs()) {
        const auto slot = static_cast<std::size_t>(y.slot);
        Tensor& grad = walk.grads[slot];
        if (grad.defined()) grad = hooked(y.slot, std::move(grad));
        // Complete, and consumed here unless it was requested.
        incoming.push_back(walk.wanted[slot] ? grad : std::exchange(grad, Tensor()));
    }
    bool needed = false;
    for (std::size_t i = 0; i < op.input_count_; ++i) {
        Op::Operand& x = op.operands_[i];
        x.needed = x.slot >= 0 && walk.on_path[static_cast<std::size_t>(x.slot)];
        needed = needed || x.needed;
    }
    if (!needed) return true;
    Tensors outgoing = op.walk(incoming);
    incoming.clear();
    for (std::size_t i = 0; i < outgoing.size(); ++i) {
        Tensor grad = std::exchange(outgoing[i], Tensor());
        const Op::Operand& x = op.operands_[i];
        if (!x.needed || !grad.defined()) continue;
        add_to(walk.grads[static_cast<std::size_t>(x.slot)], std::move(grad));
    }
    return true;
}

// Adds a leaf's complete gradient to grad(); calling it again does nothing.
void Tape::deliver(int slot, Walk& walk) {
    const std::shared_ptr<Leaf> leaf = slots_[static_cast<std::size_t>(slot)].leaf;
    Tensor& arrived = walk.grads[static_cast<std::size_t>(slot)];
    if (!walk.into_leaves || leaf == nullptr || !arrived.defined()) return;
    Tensor grad = hooked(slot, std::exchange(arrived, Tensor()));
    auto lock = lock_of(*leaf);
    // grad() may be changed in place (clipping), so it must not share its memory.
    const bool shared = !grad.owns_alone() || !grad.is_contiguous();
    if (shared && !leaf->grad.defined()) {  // if gradients are recorded, so is the copy
        grad = walk.create_graph ? accumulate_gradients(grad, zeros_like(grad)) : grad.clone();
    }
    add_to(leaf->grad, std::move(grad));
    if (leaf->place && leaf->optimizers == 0) walk.untrained = leaf;
    leaf->untrained.reset();
    lock.unlock();
    TapeObserver::tell_completed(*leaf);
}

Tape::Walk Tape::walk(const Tensor& y, const RecycledVector<bool>& wanted, bool into_leaves,
                      const GradientOptions& options) {
    const FloatingPointGuard standard;  // also for what rules compute outside loops
    require<AutogradError>(y.defined(), "backward: the tensor to start from is undefined");
    const int start = slot_of(y);
    if (start < 0) fail<AutogradError>("backward: the tensor {} {}", y.shape(), why_constant(y));
    Tensor seed = options.cotangent;
    if (!seed.defined()) {
        require<ShapeError>(y.numel() == 1,
                            "backward: starts from one number, got {}; pass a cotangent or take a "
                            "sum or mean first",
                            y.shape());
        seed = ones_like(y);
    }
    require<ShapeError>(seed.shape() == y.shape() && seed.dtype() == y.dtype(),
                        "backward: the cotangent is {} {}, the tensor {} {}", seed.dtype(),
                        seed.shape(), y.dtype(), y.shape());

    const Recording recording(options.create_graph ? this : nullptr);
    Walk walk{{}, wanted, wanted, {}, options.create_graph, into_leaves};
    walk.cover(slots_.size());
    find_paths(walk, 0);
    walk.grads[static_cast<std::size_t>(start)] = std::move(seed);
    walk_back(0, entries_.size(), walk, options.retain || options.create_graph);
    deliver(start, walk);  // in case no entry read it
    return walk;
}

void Tape::walk_back(std::size_t first, std::size_t last, Walk& walk, bool keep) {
    for (std::size_t i = last; i-- > first;) {
        const std::shared_ptr<Op> op = entries_[i];  // recording may reallocate entries_
        if (step_back(*op, walk) && !keep) {
            for (const auto& y : op->outputs()) {
                slots_[static_cast<std::size_t>(y.slot)].recomputed = nullptr;
            }
            op->release();
        }
        const auto inputs = op->inputs();
        for (auto x = inputs.rbegin(); x != inputs.rend(); ++x) {
            if (x->slot < 0) continue;
            const int reader = walk.read_first[static_cast<std::size_t>(x->slot)];
            if (reader == static_cast<int>(i)) deliver(x->slot, walk);
        }
    }
}

void Tape::backward(const Tensor& loss, const GradientOptions& options) {
    RecycledVector<bool> wanted(slots_.size(), false);
    for (const auto& [leaf, slot] : leaf_slots_) {
        wanted[static_cast<std::size_t>(slot)] = leaf->requires_grad;
    }
    const Walk way = walk(loss, wanted, true, options);
    if (way.untrained) tell_trained(way.untrained);
}

Tensors Tape::gradient(const Tensor& y, const Tensors& xs, const GradientOptions& options) {
    std::vector<int> slots;
    for (const Tensor& x : xs) {
        slots.push_back(slot_of(x));
        if (slots.back() < 0) fail<AutogradError>("gradient: x {} {}", x.shape(), why_constant(x));
    }
    RecycledVector<bool> wanted(slots_.size(), false);
    for (const int slot : slots) wanted[static_cast<std::size_t>(slot)] = true;
    Tensors grads = std::move(walk(y, wanted, false, options).grads);
    const Recording recording(options.create_graph ? this : nullptr);
    for (std::size_t i = 0; i < grads.size(); ++i) {  // the walk ran the hooks of all others
        if (slots_[i].leaf == nullptr || !grads[i].defined()) continue;
        grads[i] = hooked(static_cast<int>(i), std::move(grads[i]));
    }
    Tensors result;
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const Tensor& grad = grads[static_cast<std::size_t>(slots[i])];
        result.push_back(grad.defined() ? grad : zeros_like(xs[i]));
    }
    return result;
}

}  // namespace tapestry
