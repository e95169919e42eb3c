// How much an entry of a tape computes and moves, whoever counts it: the profiler, which adds up,
// and nn/inspect, which shows every entry by itself. Read next: roofline.h.
#pragma once

#include <tapestry/autograd/op.h>

namespace tapestry {

/// FLOPs, and bytes that had to be read or written, each once.
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

}  // namespace tapestry
