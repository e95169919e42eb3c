// Who watches the tapes of this thread: told of every operation that is recorded, with its values,
// of every rule that has run, with its gradients, and of every leaf whose gradient is complete. The
// gradient checker finds kinks and wrong rules this way; a test plants wrong rules this way; the
// profiler takes the time this way; gradients leave for other processes this way.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

/// Watches from construction to destruction. Of several, the one made first is told first.
class TapeObserver {
public:
    TapeObserver();
    virtual ~TapeObserver();
    TapeObserver(const TapeObserver&) = delete;
    TapeObserver& operator=(const TapeObserver&) = delete;

    /// `op` stands on the tape. Inputs that record() was given undefined are undefined here.
    virtual void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs);

    /// The rule of `op` is about to run.
    virtual void walking(const Op& op);

    /// The rule of `op` made `outgoing`, one gradient per input, of `incoming`, one per output.
    /// What is changed in `outgoing` counts.
    virtual void walked(Op& op, const Tensors& incoming, Tensors& outgoing);

    /// backward() has put into grad() of `leaf` all that it will: the entry that read it first,
    /// also one inside of what is recomputed, has been walked. Others follow, as the walk goes on.
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
