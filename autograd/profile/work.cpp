#include <tapestry/autograd/profile/work.h>

#include <algorithm>

namespace tapestry {
namespace {

// An expanded tensor has fewer numbers than elements.
double bytes_of(const Tensor& x) {
    if (!x.defined()) return 0;
    return static_cast<double>(std::min(x.bytes(), x.storage()->bytes()));
}

bool shares_memory(const Tensor& x, const Tensors& with) {
    return std::any_of(with.begin(), with.end(), [&x](const Tensor& other) {
        return other.defined() && other.storage() == x.storage();
    });
}

// Those of `tensors` that are no views of `others`.
double new_bytes(const Tensors& tensors, const Tensors& others) {
    double bytes = 0;
    for (const Tensor& x : tensors) {
        if (x.defined() && !shares_memory(x, others)) bytes += bytes_of(x);
    }
    return bytes;
}

bool given_before(const Tensors& tensors, std::size_t i) {
    const Tensor& x = tensors[i];
    return std::any_of(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(i),
                       [&x](const Tensor& other) {
                           return other.defined() && other.storage() == x.storage() &&
                                  other.offset() == x.offset();
                       });
}

double forward_bytes(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    const double written = new_bytes(outputs, inputs);
    if (written == 0) return 0;
    const bool only_moves = op.flops() == 0;
    double read = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].defined() || given_before(inputs, i)) continue;
        const double bytes = bytes_of(inputs[i]);
        read += only_moves ? std::min(bytes, written) : bytes;
    }
    return read + written;
}

double operand_bytes(std::span<const Op::Operand> operands) {
    double bytes = 0;
    for (const Op::Operand& x : operands) {
        bytes += static_cast<double>(numel(x.shape)) * static_cast<double>(size_of(x.dtype));
    }
    return bytes;
}

double backward_bytes(const Op& op, const Tensors& incoming, const Tensors& outgoing) {
    const double written = new_bytes(outgoing, incoming);
    if (written == 0) return 0;
    double read = std::min(static_cast<double>(op.saved_bytes()),
                           operand_bytes(op.inputs()) + operand_bytes(op.outputs()));
    for (const Tensor& grad : incoming) read += bytes_of(grad);
    return read + written;
}

double backward_flops(const Op& op) {
    int needed = 0;
    for (std::size_t i = 0; i < op.inputs().size(); ++i) {
        if (op.needs(i) && op.inputs()[i].shape.rank() >= 2) ++needed;
    }
    return op.flops() * std::clamp(needed, 1, 2);
}

}  // namespace

OpWork forward_work(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    return {op.flops(), forward_bytes(op, inputs, outputs)};
}

OpWork backward_work(const Op& op, const Tensors& incoming, const Tensors& outgoing) {
    return {backward_flops(op), backward_bytes(op, incoming, outgoing)};
}

}  // namespace tapestry
