// A tape is the list of operations that actually ran, in order; backward walks it from the end.
//
//     Tape tape;                                  // records on this thread until it leaves scope
//     Tensor loss = cross_entropy(model(x), y);
//     tape.backward(loss);                        // fills grad() of every leaf that requires it
//
// Without a live tape nothing is recorded or saved. Only operations that depend on a tensor that
// requires a gradient are recorded. Read next: op.h (one entry), then ops/activation.cpp (a whole
// op).
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

/// Options of Tape::gradient().
struct GradientOptions {
    /// dL/dy for the y to start from; ones if undefined, which requires a y of one element.
    Tensor cotangent = {};
    /// Keep what the entries saved, to allow another walk.
    bool retain = false;
    /// Record the walk on the same tape, so that its results can be differentiated. Implies retain.
    bool create_graph = false;
};

/// The operations that this thread runs while the tape is alive, in order, and the walk back over
/// them. Read the opening comment of this file first.
class Tape {
public:
    /// Starts recording on this thread. A tape made while another is alive suspends that one. Tapes
    /// may be destroyed in any order, and on any thread, but not concurrently with their use.
    Tape();
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    /// Adds d(loss)/d(leaf) to grad() of every leaf that `loss` depends on, as soon as that
    /// gradient is complete; observers are notified. If a rule throws, the gradients already added
    /// remain.
    void backward(const Tensor& loss, const GradientOptions& options = {});

    /// dy/dx for each x (with a cotangent v: v^T dy/dx), without touching any grad(). An x may be a
    /// leaf or anything computed on this tape; zeros if y does not depend on it. Throws
    /// AutogradError for an x that is neither.
    Tensors gradient(const Tensor& y, const Tensors& xs, const GradientOptions& options = {});

    /// Whether gradients can flow through x: it is a leaf, or computed on this tape from one.
    bool follows(const Tensor& x) const;

    /// In the order in which they ran.
    const RecycledVector<std::shared_ptr<Op>>& entries() const { return entries_; }
    /// Bytes kept alive for backward, summed over all entries.
    std::size_t saved_bytes() const;

    /// The tape that currently records on this thread, or null.
    static Tape* current();

    /// For record(): the current tape if it follows one of the inputs, else null.
    static Tape* following(const TensorRefs& inputs);
    /// For record(): gives y, an output, the next slot of this tape.
    void place_output(Tensor& y);
    /// For record(), if no tape follows an input: marks y if a gradient was lost there; the
    /// error message uses this if that gradient is requested later.
    static void note_loss(const TensorRefs& inputs, Tensor& y);
    /// For record(): appends the entry. Throws AutogradError for an input that was changed in place
    /// after this tape computed it.
    void append(std::shared_ptr<Op> op, const TensorRefs& inputs, const TensorRefs& outputs);
    /// For register_hook(): calls `hook` with the gradient of x, which is a leaf or on this tape.
    void add_hook(const Tensor& x, GradientHook hook);

private:
    friend class Recording;
    friend Tensors recompute(const std::function<Tensors(const Tensors&)>& f,
                             const Tensors& inputs);
    struct Slot {
        Shape shape;
        DType dtype;
        std::shared_ptr<Leaf> leaf;  // null for the output of an op
        std::uint64_t version;       // of its storage when recorded; a leaf: when last used
        bool forgotten = false;      // its entry has been removed
        std::shared_ptr<const RecomputedOutput> recomputed = nullptr;  // if it need not be kept
    };
    struct Walk {                        // during backward, by slot:
        Tensors grads;                   // accumulated so far
        RecycledVector<bool> wanted;     // to be kept until the end
        RecycledVector<bool> on_path;    // depends on a wanted one
        RecycledVector<int> read_first;  // entry after which it is complete; -1: none
        bool create_graph;
        bool into_leaves;                            // complete ones are added to grad()
        std::shared_ptr<const Leaf> untrained = {};  // of those, one that no optimiser holds
        void cover(std::size_t slots);               // makes room for slots up to this one
    };
    struct Mark {  // an earlier end of the tape
        std::size_t entries;
        std::size_t slots;
    };

    int slot_of(const Tensor& x);           // a leaf gets one at its first use
    int known_slot(const Tensor& x) const;  // -1 if there is none
    Walk walk(const Tensor& y, const RecycledVector<bool>& wanted, bool into_leaves,
              const GradientOptions& options);
    void find_paths(Walk& walk, std::size_t first) const;
    void walk_back(std::size_t first, std::size_t last, Walk& walk, bool keep);
    bool step_back(Op& op, Walk& walk);
    void deliver(int slot, Walk& walk);
    Tensor hooked(int slot, Tensor grad) const;
    void tell_trained(const std::shared_ptr<const Leaf>& untrained);
    /// Why no gradient flows through x on a tape that has no slot for it; the end of a sentence
    /// that begins "the tensor [2] ".
    static std::string why_constant(const Tensor& x);

    // For recompute(), defined in recompute.cpp: replaces entries by one, and expands that one
    // again.
    void collapse(const Mark& from, std::unique_ptr<RecomputeOp> op, const Tensors& inputs,
                  const Tensors& outputs);
    void note_recomputed(const std::shared_ptr<Op>& op, const TensorRefs& inputs,
                         const TensorRefs& outputs);
    bool expand(Op& op, Walk& walk);
    std::vector<int> run_again(const RecomputeOp& op, const Mark& mark);
    bool made_since(const Mark& mark, int slot) const;
    std::map<int, Op::Operand> used_since(const Mark& mark) const;
    void forget_since(const Mark& mark);

    // A handle to a tape for those who may outlive it: the thread on which it records, the thread
    // that destroys it, and scopes within its own.
    struct Life {
        std::atomic<Tape*> tape;  // null once it has been destroyed
        std::shared_ptr<Life> outer;
    };
    static std::shared_ptr<Life>& current_life();  // the innermost of this thread, if alive

    std::uint64_t number_;
    std::shared_ptr<Life> life_;
    RecycledVector<std::shared_ptr<Op>> entries_;
    RecycledVector<Slot> slots_;
    std::unordered_map<const Leaf*, int, std::hash<const Leaf*>, std::equal_to<>,
                       Recycling<std::pair<const Leaf* const, int>>>
        leaf_slots_;
    std::map<int, std::vector<GradientHook>> hooks_;
};

/// Sets the tape that records in this scope as long as that is alive; null: none.
class Recording {
public:
    /// `tape` records until this leaves scope.
    explicit Recording(Tape* tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

private:
    std::shared_ptr<Tape::Life> outer_;
};

/// Disables recording while in scope, with or without a tape.
class NoGradGuard : public Recording {
public:
    NoGradGuard() : Recording(nullptr) {}
};

/// Whether a tape is recording on this thread. Backward rules check it: with `create_graph` they
/// are composed of recordable ops, otherwise they may use a fused kernel.
inline bool is_recording() { return Tape::current() != nullptr; }

namespace detail {
template <class O, class... Args>
std::shared_ptr<Op> make_op(const Args&... args) {
    static_assert(
        !std::is_abstract_v<O>,
        "an Op must override both forward(const Tensors&) const and backward(const Tensors&)");
    if constexpr (!std::is_abstract_v<O>) {  // otherwise further errors follow
        return make_recycled<O>(args...);
    } else {
        return nullptr;
    }
}
}  // namespace detail

/// Records an op on the tape that follows its inputs, if any:
///     Tensor y = ...;
///     return record<ExpOp>({x}, y, y);
/// The arguments after `y` are passed to O's constructor, which runs once y has its slot.
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

/// Calls `hook` with the gradient of `x` once it is complete, and replaces the gradient by the
/// result (unless undefined), which must have the same shape and type (AutogradError). On a leaf
/// the hook is permanent; on any other tensor it lasts as long as the tape.
void register_hook(const Tensor& x, GradientHook hook);

/// Adding two gradients must itself be recordable, but ops are above this layer: this is the only
/// function declared here and defined there (ops/arithmetic.cpp).
Tensor accumulate_gradients(const Tensor& a, const Tensor& b);
/// The same into `a`, unrecorded. `a` is contiguous, has the shape of b, and does not share its
/// memory.
void accumulate_gradients_in_place(Tensor& a, const Tensor& b);

}  // namespace tapestry
