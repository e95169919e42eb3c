// A tape is the list of operations that really ran, in order; backward walks it from the end.
//
//     Tape tape;                                  // records on this thread until it leaves scope
//     Tensor loss = cross_entropy(model(x), y);
//     tape.backward(loss);                        // fills grad() of every leaf that asked for one
//
// No tape alive: nothing is recorded, nothing is saved. Only what depends on a tensor that asked
// for its gradient is recorded. Read next: op.h (one entry), then ops/activation.cpp (a whole op).
#pragma once

#include <tapestry/autograd/op.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tapestry {

class RecomputeOp;

struct GradientOptions {
    /// dL/dy for the y one starts from; ones if undefined, which needs a y of one element.
    Tensor cotangent = {};
    /// Keep what the entries saved, to walk again.
    bool retain = false;
    /// Record the walk on the same tape, so that its results can be differentiated. Implies retain.
    bool create_graph = false;
};

class Tape {
public:
    /// Starts recording on this thread. A tape made while another is alive suspends that one. Tapes
    /// may end in any order, and on any thread that nothing else happens on meanwhile.
    Tape();
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    /// Adds d(loss)/d(leaf) to grad() of every leaf that `loss` depends on: to each as soon as its
    /// gradient is complete, which observers are told. Where a rule throws, those keep theirs.
    void backward(const Tensor& loss, const GradientOptions& options = {});

    /// dy/dx for each x (with a cotangent v: v^T dy/dx), touching no grad(). An x may be a leaf or
    /// anything this tape computed; zeros where y does not depend on it. Throws AutogradError for
    /// an x that is neither.
    Tensors gradient(const Tensor& y, const Tensors& xs, const GradientOptions& options = {});

    /// Can gradients flow through x: is it a leaf, or computed on this tape from one?
    bool follows(const Tensor& x) const;

    const RecycledVector<std::shared_ptr<Op>>& entries() const { return entries_; }
    /// Bytes kept alive for backward, all entries together.
    std::size_t saved_bytes() const;

    /// The tape that records on this thread now, or null.
    static Tape* current();

    /// For record(): the current tape if an input is part of what it follows, else null.
    static Tape* following(const TensorRefs& inputs);
    void place_output(Tensor& y);
    /// For record(), where no tape follows an input: leaves a word in y if a gradient was lost
    /// there, for the error of whoever asks for it later.
    static void note_loss(const TensorRefs& inputs, Tensor& y);
    void append(std::shared_ptr<Op> op, const TensorRefs& inputs, const TensorRefs& outputs);
    void add_hook(const Tensor& x, GradientHook hook);

private:
    friend class Recording;
    friend Tensors recompute(const std::function<Tensors(const Tensors&)>& f,
                             const Tensors& inputs);
    struct Slot {
        Shape shape;
        DType dtype;
        std::shared_ptr<Leaf> leaf;  // null for what an op computed
        std::uint64_t version;       // of its storage when it got its slot; a leaf: when last used
        bool forgotten = false;      // its entry is gone
        std::shared_ptr<const RecomputedOutput> recomputed = nullptr;  // if it need not be kept
    };
    struct Walk {                        // on the way back, by slot:
        Tensors grads;                   // what has arrived
        RecycledVector<bool> wanted;     // is to be kept in the end
        RecycledVector<bool> on_path;    // leads to a wanted one
        RecycledVector<int> read_first;  // the entry after which nothing more arrives; -1: none
        bool create_graph;
        bool into_leaves;                            // complete ones go to grad()
        std::shared_ptr<const Leaf> untrained = {};  // of those: one that no optimiser has
        void cover(std::size_t slots);
    };
    struct Mark {  // where the tape ended
        std::size_t entries;
        std::size_t slots;
    };

    int slot_of(const Tensor& x);           // a leaf gets one when first seen
    int known_slot(const Tensor& x) const;  // -1 if there is none
    Walk walk(const Tensor& y, const RecycledVector<bool>& wanted, bool into_leaves,
              const GradientOptions& options);
    void find_paths(Walk& walk, std::size_t first) const;
    void walk_back(std::size_t first, std::size_t last, Walk& walk, bool keep);
    bool step_back(Op& op, Walk& walk);
    void deliver(int slot, Walk& walk);
    Tensor hooked(int slot, Tensor grad) const;
    void tell_trained(const std::shared_ptr<const Leaf>& untrained);
    /// Why no gradient flows through x on a tape that has no slot for it, to follow "the tensor [2]
    /// ".
    static std::string why_constant(const Tensor& x);

    // For recompute(), and defined beside it: entries replaced by one, and that one by them again.
    void collapse(const Mark& from, std::unique_ptr<RecomputeOp> op, const Tensors& inputs,
                  const Tensors& outputs);
    void note_recomputed(const std::shared_ptr<Op>& op, const TensorRefs& inputs,
                         const TensorRefs& outputs);
    bool expand(Op& op, Walk& walk);
    std::vector<int> run_again(const RecomputeOp& op, const Mark& mark);
    bool made_since(const Mark& mark, int slot) const;
    std::map<int, Op::Operand> used_since(const Mark& mark) const;
    void forget_since(const Mark& mark);

    // A tape as those know it who may still be there when it is not: the thread that it records on,
    // whoever ends it, and scopes within its own.
    struct Life {
        std::atomic<Tape*> tape;  // null when it has ended
        std::shared_ptr<Life> outer;
    };
    static std::shared_ptr<Life>& current_life();  // of this thread: the innermost, if it lives

    std::uint64_t number_;
    std::shared_ptr<Life> life_;
    RecycledVector<std::shared_ptr<Op>> entries_;
    RecycledVector<Slot> slots_;
    std::unordered_map<const Leaf*, int, std::hash<const Leaf*>, std::equal_to<>,
                       Recycling<std::pair<const Leaf* const, int>>>
        leaf_slots_;
    std::map<int, std::vector<GradientHook>> hooks_;
};

/// Sets which tape records in this scope, while it is there; null: none does.
class Recording {
public:
    explicit Recording(Tape* tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

private:
    std::shared_ptr<Tape::Life> outer_;
};

/// Nothing is recorded while one of these is alive, tape or no tape.
class NoGradGuard : public Recording {
public:
    NoGradGuard() : Recording(nullptr) {}
};

/// Is a tape recording on this thread? Backward rules ask: with `create_graph` they compose
/// themselves of recordable ops, without it they may take a fused kernel.
inline bool is_recording() { return Tape::current() != nullptr; }

namespace detail {
template <class O, class... Args>
std::shared_ptr<Op> make_op(const Args&... args) {
    static_assert(!std::is_abstract_v<O>,
                  "an Op overrides both forward(const Tensors&) const and backward(const "
                  "Tensors&): this one lacks one of them");
    if constexpr (!std::is_abstract_v<O>) {  // else there is more to read than that sentence
        return make_recycled<O>(args...);
    } else {
        return nullptr;
    }
}
}  // namespace detail

/// How an op puts itself on the tape, and nothing happens when there is none to follow it:
///     Tensor y = ...;
///     return record<ExpOp>({x}, y, y);
/// The arguments after `y` go to O's constructor, which runs when y has its slot.
template <class O, class... Args>
Tensor record(const TensorRefs& inputs, Tensor& y, const Args&... args) {
    if (Tape* tape = Tape::following(inputs)) {
        tape->place_output(y);
        tape->append(detail::make_op<O>(args...), inputs, {y});
    } else {
        Tape::note_loss(inputs, y);
    }
    return y;
}

/// The same for an op with several outputs.
template <class O, class... Args>
Tensors record(const TensorRefs& inputs, Tensors& ys, const Args&... args) {
    if (Tape* tape = Tape::following(inputs)) {
        for (Tensor& y : ys) tape->place_output(y);
        tape->append(detail::make_op<O>(args...), inputs, ys);
    } else {
        for (Tensor& y : ys) Tape::note_loss(inputs, y);
    }
    return ys;
}

/// Calls `hook` with the gradient of `x`, once it is complete, and takes what it returns instead
/// (unless undefined), which must have the same shape and type (AutogradError). On a leaf it stays;
/// on anything else it lasts as long as the tape.
void register_hook(const Tensor& x, GradientHook hook);

/// Adding two gradients must itself be recordable, yet ops lie above this layer: the one function
/// declared here and defined there (ops/arithmetic.cpp).
Tensor accumulate_gradients(const Tensor& a, const Tensor& b);
/// The same into `a`, unrecorded. `a` is contiguous, of the shape of b, and owns its memory alone.
void accumulate_gradients_in_place(Tensor& a, const Tensor& b);

}  // namespace tapestry
