// Where a training step's time goes: for every operation that a tape records, the time it took, the
// FLOPs and bytes of its work, and the least time that a machine needs for this work.
//
//     Profiler profiler(measure_peak());
//     {
//         Tape tape;
//         tape.backward(model.loss(x, y));
//     }
//     profiler.mark("backward's end");
//     for (const ProfileRow& row : by_module(profiler.rows(), 3)) {
//         fmt::print("{}: {} s, least {} s\n", row.module, row.total().seconds,
//                    row.total().least);
//     }
//
// `tapestry profile` prints this for a GPT. Read next: roofline.h, docs/profiling.md.
#pragma once

#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/op.h>
#include <tapestry/autograd/profile/roofline.h>
#include <tapestry/core/clock.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// The work of a tape entry: FLOPs, and bytes that must be read or written, each counted once. The
/// profiler adds it up, nn/inspect shows every entry by itself.
struct OpWork {
    double flops = 0;  ///< floating-point operations
    double bytes = 0;  ///< read or written, each once
};

/// The work of the forward pass of an entry recorded with these tensors: Op::flops(), and the bytes
/// of inputs and outputs. A view moves nothing, and an op without arithmetic (a row lookup, a
/// concatenation) reads no more than it writes.
OpWork forward_work(const Op& op, const Tensors& inputs, const Tensors& outputs);

/// The work of an entry's rule, which computed `outgoing` from `incoming`. FLOPs: those of the
/// forward pass once for each input of rank 2 or above that needs its gradient, at least once and
/// at most twice: exact for matrix products, which need one product per operand (and twice the two
/// products of attention); recomputation to save memory is not counted. Bytes: those of the
/// outputs' gradients, of the data that the rule reads again (what was saved, up to the size of
/// inputs and outputs), and of the new gradients.
OpWork backward_work(const Op& op, const Tensors& incoming, const Tensors& outgoing);

/// Some work and the time it took.
struct ProfiledWork {
    std::int64_t calls = 0;  ///< number of times it ran
    double seconds = 0;      ///< time it took
    double flops = 0;        ///< floating-point operations
    double bytes = 0;        ///< that must be read or written, each once
    double least = 0;        ///< seconds, summed over the calls: MachinePeak::least_seconds

    /// Adds all fields.
    ProfiledWork& operator+=(const ProfiledWork& other);
    /// The fraction of the peak reached: least / seconds; 0 if no time was taken.
    double of_peak() const { return seconds > 0 ? least / seconds : 0; }
};

/// The work of one kind of operation in one module, or a sum over several of either.
struct ProfileRow {
    std::string op;              ///< "linear"; empty in sums over operations
    std::string module;          ///< "blocks.3.feed_forward.up"; empty in sums over modules
    ProfiledWork forward = {};   ///< of the forward pass
    ProfiledWork backward = {};  ///< of the backward rules

    ProfiledWork total() const;  ///< both together
};

/// Observes the tapes of this thread from construction to destruction.
///
/// Time is measured from one event to the next: the time before an operation is recorded belongs to
/// its forward pass, the time between the start and the end of a rule to its backward. After a
/// rule, its gradients are added to others and its saved tensors released: this is the row
/// "accumulate" of the operation's module. The profiler's own time is not counted.
///
/// FLOPs and bytes are those of forward_work() and backward_work(); recomputation to save memory
/// counts as time but not as work.
class Profiler final : public TapeObserver {
public:
    /// `peak`: from measure_peak(); without it, `least` stays 0.
    explicit Profiler(MachinePeak peak);

    /// Attributes the time since the last event to `what`, outside the tape: data loading, for
    /// example, or the optimiser, whose work the caller provides.
    void mark(std::string_view what, double flops = 0, double bytes = 0);

    /// Discards everything recorded; time counts from here.
    void restart();

    /// Every operation in every module, by module and name. Their `total()`s sum up to the time on
    /// the tape.
    std::vector<ProfileRow> rows() const;

    /// The marked work, as `forward` of rows that have a name and no module, by name.
    std::vector<ProfileRow> outside() const;

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walking(const Op& op) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    ProfileRow& row(const std::string& module, std::string_view name);
    void add(ProfiledWork& to, double seconds, double flops, double bytes) const;
    void resume();  // the next event counts from now

    MachinePeak peak_;
    std::map<std::pair<std::string, std::string>, ProfileRow> rows_;  // module, name
    std::map<std::string, ProfileRow, std::less<>> outside_;
    std::string accumulating_;  // module of the latest rule
    Clock::time_point last_;
};

/// "blocks.3.attention.qkv" -> "blocks.*.attention" at depth 3: layers that differ only in their
/// number become one. Depth 0 keeps all parts.
std::string folded_path(std::string_view path, int depth = 0);

/// Sums over the same operation, the slowest first.
std::vector<ProfileRow> by_op(const std::vector<ProfileRow>& rows);

/// Sums over the same folded_path, the slowest first.
std::vector<ProfileRow> by_module(const std::vector<ProfileRow>& rows, int depth = 0);

/// The sum of all rows.
ProfileRow sum_of(const std::vector<ProfileRow>& rows);

}  // namespace tapestry
