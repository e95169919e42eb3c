// Observers of this thread's tapes, called for every operation recorded, with its values, for every
// rule that has run, with its gradients, and for every leaf whose gradient is complete. The
// gradient checker uses them to find kinks and wrong rules, tests to plant wrong rules, the
// profiler to take times, and distributed training to send gradients to other processes.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

/// Observes from construction to destruction. Several observers are called in the order of their
/// construction.
class TapeObserver {
public:
    TapeObserver();
    virtual ~TapeObserver();
    TapeObserver(const TapeObserver&) = delete;
    TapeObserver& operator=(const TapeObserver&) = delete;

    /// `op` has been recorded. Inputs that were undefined in record() are undefined here.
    virtual void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs);

    /// Called before the rule of `op` runs.
    virtual void walking(const Op& op);

    /// The rule of `op` computed `outgoing`, one gradient per input, from `incoming`, one per
    /// output. Changes to `outgoing` take effect.
    virtual void walked(Op& op, const Tensors& incoming, Tensors& outgoing);

    /// grad() of `leaf` is final for this backward(): the first entry that read it, possibly inside
    /// a recomputed function, has been walked. Other leaves follow as the walk continues.
    virtual void completed(Leaf& leaf);

private:
    friend class Op;
    friend class Tape;
    static void tell_recorded(const Op& op, const TensorRefs& inputs, const TensorRefs& outputs);
    static void tell_walking(const Op& op);
    static void tell_walked(Op& op, const Tensors& incoming, Tensors& outgoing);
    static void tell_completed(Leaf& leaf);
};

}  // namespace tapestry
