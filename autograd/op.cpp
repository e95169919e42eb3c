#include <tapestry/autograd/op.h>

#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/recomputed_output.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/thread_exit.h>

#include <utility>

namespace tapestry {

Op::Op(std::string_view name, const TensorRefs& saved) : name_(name) {
    saved_.reserve(saved.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
        const Tensor& tensor = saved[i];
        saved_.push_back({tensor, tensor.defined() ? tensor.storage()->version() : 0});
    }
}

const Tensor& Op::saved(std::size_t i) const {
    // Not require(), which would evaluate described() on every call.
    if (released_) [[unlikely]] {
        fail<AutogradError>(
            "{}: backward has already run and released the saved tensors; pass retain = true to "
            "run it again",
            described());
    }
    Saved& saved = saved_.at(i);
    if (!saved.tensor.defined()) {
        if (saved.recomputed == nullptr) return saved.tensor;
        saved.tensor = saved.recomputed->compute();
        saved.version = saved.tensor.storage()->version();
    }
    if (const auto now = saved.tensor.storage()->version(); now != saved.version) [[unlikely]] {
        fail<AutogradError>(
            "{}: a tensor {} it saved for backward has been changed in place since (version {}, "
            "now {})",
            described(), saved.tensor.shape(), saved.version, now);
    }
    return saved.tensor;
}

Tensor Op::decisions(const Tensors&) const { return {}; }

Tensors Op::walk(const Tensors& grads) {
    const ModulePathGuard path(module_path_);
    TapeObserver::tell_walking(*this);
    Tensors outgoing = backward(grads);
    if (outgoing.size() != input_count_) {
        fail<AutogradError>("{}: backward gave {} gradients for {} inputs", described(),
                            outgoing.size(), input_count_);
    }
    TapeObserver::tell_walked(*this, grads, outgoing);
    for (std::size_t i = 0; i < outgoing.size(); ++i) {
        const Tensor& grad = outgoing[i];
        const Operand& x = operands_[i];
        if (!x.needed || !grad.defined()) continue;
        if (!(grad.shape() == x.shape) || grad.dtype() != x.dtype) {
            fail<AutogradError>("{}: backward gave a gradient {} {} for input {}, which is {} {}",
                                described(), grad.dtype(), grad.shape(), i, x.dtype, x.shape);
        }
    }
    return outgoing;
}

double Op::flops() const {
    double count = 0;
    for (const Operand& output : outputs()) count += static_cast<double>(numel(output.shape));
    return count;
}

std::size_t Op::saved_bytes() const {
    std::size_t bytes = 0;
    for (const Saved& saved : saved_) {
        if (saved.tensor.defined()) bytes += saved.tensor.bytes();
    }
    return bytes;
}

void Op::release() {
    if (saved_.empty()) return;
    saved_.clear();
    released_ = true;
}

std::string Op::described() const {
    return module_path_.empty() ? fmt::format("{} (#{})", name(), number_)
                                : fmt::format("{} (#{}, {})", name(), number_, module_path());
}

namespace {

std::string& current() {
    static thread_local std::string* path = nullptr;
    return of_this_thread(path);
}

}  // namespace

ModuleScope::ModuleScope(std::string_view name) : outer_length_(current().size()) {
    if (!is_recording() || name.empty()) return;
    if (!current().empty()) current() += '.';
    current() += name;
}

ModuleScope::~ModuleScope() { current().resize(outer_length_); }

ModulePathGuard::ModulePathGuard(std::string_view replacement) {
    if (is_recording()) outer_ = std::exchange(current(), std::string(replacement));
}

ModulePathGuard::~ModulePathGuard() {
    if (outer_) current() = std::move(*outer_);
}

const std::string& module_path() { return current(); }

}  // namespace tapestry
