// Where a training step's time goes: of every operation that a tape records, how long it took, what
// it computed and moved, and how long that would take a machine that does nothing else.
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

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// How much an entry of a tape computes and moves, whoever counts it: the profiler, which adds up,
/// and nn/inspect, which shows every entry by itself. FLOPs, and bytes that had to be read or
/// written, each once.
struct OpWork {
    double flops = 0;
    double bytes = 0;
};

/// Of an entry that was recorded with these tensors: Op::flops(), and the bytes of inputs and
/// outputs. A view moves nothing, and what computes nothing (a row looked up, a piece joined) reads
/// no more than it writes.
OpWork forward_work(const Op& op, const Tensors& inputs, const Tensors& outputs);

/// Of its rule, which made `outgoing` of `incoming`. FLOPs once more for every input of rank 2 or
/// above that needs its gradient, two at the most: exact for products, which need one product per
/// operand (and twice the two products of attention); what a rule computes again to save memory is
/// not counted. Bytes are those of the outputs' gradients, of what the rule reads again (what was
/// saved, as far as it is not more than inputs and outputs), and of the new gradients.
OpWork backward_work(const Op& op, const Tensors& incoming, const Tensors& outgoing);

/// Some work and the time it took.
struct ProfiledWork {
    std::int64_t calls = 0;
    double seconds = 0;
    double flops = 0;
    double bytes = 0;  ///< that had to be read or written, each once
    double least = 0;  ///< seconds, summed over the calls: MachinePeak::least_seconds

    ProfiledWork& operator+=(const ProfiledWork& other);
    /// How much of the peak: least / seconds; 0 where no time was taken.
    double of_peak() const { return seconds > 0 ? least / seconds : 0; }
};

/// The work of one kind of operation in one place, or a sum over several of either.
struct ProfileRow {
    std::string op;      ///< "linear"; empty in sums over operations
    std::string module;  ///< "blocks.3.feed_forward.up"; empty in sums over modules
    ProfiledWork forward = {};
    ProfiledWork backward = {};

    ProfiledWork total() const;
};

/// Watches the tapes of this thread from construction to destruction.
///
/// Time passes from one event to the next: what has passed when an operation is recorded was spent
/// on its forward pass, what passes between the start and the end of a rule on its backward. After
/// a rule its gradients are added to others and what it saved is let go: this is the row
/// "accumulate" of the operation's module. The profiler's own time counts nowhere.
///
/// FLOPs and bytes are counted as autograd/profile/profiler.h says; what a rule computes again to
/// save memory shows as time and not as work.
class Profiler final : public TapeObserver {
public:
    explicit Profiler(MachinePeak peak);

    /// The time since the last event was spent on `what`, outside of the tape: on data, say, or on
    /// the optimiser, whose work the caller knows.
    void mark(std::string_view what, double flops = 0, double bytes = 0);

    /// Forgets what it has seen; time counts from here.
    void restart();

    /// Every operation in every place, by module and name. Their `total()`s sum up to the time on
    /// the tape.
    std::vector<ProfileRow> rows() const;

    /// What was marked, as `forward` of rows that have a name and no module, by name.
    std::vector<ProfileRow> outside() const;

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walking(const Op& op) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    ProfileRow& row(const std::string& module, std::string_view name);
    void add(ProfiledWork& to, double seconds, double flops, double bytes) const;
    double lap() const;  // seconds since the last event
    void resume();       // the next event counts from now

    MachinePeak peak_;
    std::map<std::pair<std::string, std::string>, ProfileRow> rows_;  // module, name
    std::map<std::string, ProfileRow, std::less<>> outside_;
    std::string accumulating_;  // the module of the rule that ran last
    Clock::time_point last_;
};

/// "blocks.3.attention.qkv" -> "blocks.*.attention" at depth 3: layers that differ in their number
/// alone become one. Depth 0 keeps all parts.
std::string folded_path(std::string_view path, int depth = 0);

/// Sums over the same operation, those that took longest first.
std::vector<ProfileRow> by_op(const std::vector<ProfileRow>& rows);

/// Sums over the same folded_path, those that took longest first.
std::vector<ProfileRow> by_module(const std::vector<ProfileRow>& rows, int depth = 0);

/// All in one.
ProfileRow sum_of(const std::vector<ProfileRow>& rows);

}  // namespace tapestry
