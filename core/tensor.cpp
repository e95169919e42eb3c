#include <tapestry/core/tensor.h>

#include <tapestry/core/copy.h>

#include <utility>

namespace tapestry {

namespace {

std::uint64_t bytes_for(const Shape& shape, std::int64_t numel, DType dtype) {
    std::uint64_t bytes = 0;
    const bool overflow =
        __builtin_mul_overflow(static_cast<std::uint64_t>(numel), size_of(dtype), &bytes);
    require<MemoryError>(!overflow, "tensor: {} of {} needs too many bytes to count in 64 bits",
                         shape, dtype);
    return bytes;
}

}  // namespace

Tensor::Tensor(const Shape& shape, DType dtype)
    : numel_(tapestry::numel(shape)),
      storage_(make_recycled<Storage>(bytes_for(shape, numel_, dtype))),
      shape_(shape),
      strides_(contiguous_strides(shape)),
      dtype_(dtype) {}

Tensor::Tensor(StoragePtr storage, const Shape& shape, const Strides& strides, std::int64_t offset,
               DType dtype)
    : numel_(tapestry::numel(shape)),
      storage_(std::move(storage)),
      shape_(shape),
      strides_(strides),
      offset_(numel_ == 0 ? 0 : offset),
      dtype_(dtype) {}

std::int64_t Tensor::size(int axis) const { return shape_[normalize_axis("size", axis, rank())]; }

bool Tensor::is_contiguous() const {
    std::int64_t step = 1;
    for (int i = rank() - 1; i >= 0; --i) {
        if (shape_[i] == 1) continue;
        if (strides_[i] != step) return numel_ == 0;
        step *= shape_[i];
    }
    return true;
}

void Tensor::check_access(DType wanted) const {
    require<Error>(defined(), "tensor: an undefined tensor has no elements");
    require<DTypeError>(dtype_ == wanted, "tensor: elements are {}, not {}", dtype_, wanted);
}

std::int64_t Tensor::offset_of(std::initializer_list<std::int64_t> index) const {
    const Shape wanted(index);
    require<IndexError>(wanted.rank() == rank(), "at: {} indices for shape {}", wanted.rank(),
                        shape_);
    std::int64_t where = 0;
    for (int axis = 0; axis < rank(); ++axis) {
        const std::int64_t i = wanted[axis] < 0 ? wanted[axis] + shape_[axis] : wanted[axis];
        require<IndexError>(i >= 0 && i < shape_[axis], "at: index {} is outside shape {}", wanted,
                            shape_);
        where += i * strides_[axis];
    }
    return where;
}

Tensor Tensor::clone() const {
    require<Error>(defined(), "clone: the tensor is undefined");
    Tensor result(shape_, dtype_);
    copy_elements(*this, result);
    return result;
}

Tensor Tensor::detach() const {
    Tensor result = *this;
    result.tape_ref_ = {};
    result.leaf_ = nullptr;
    return result;
}

Tensor& Tensor::fill_(double value) {
    require<Error>(defined(), "fill_: the tensor is undefined");
    fill_elements(*this, value);
    tape_ref_ = {};
    return *this;
}

Tensor& Tensor::copy_(const Tensor& source) {
    require<Error>(defined() && source.defined(), "copy_: a tensor is undefined");
    copy_elements(source, *this);
    tape_ref_ = {};
    return *this;
}

Tensor& Tensor::set_requires_grad(bool wanted) {
    require<Error>(defined(), "set_requires_grad: the tensor is undefined");
    require<DTypeError>(is_floating(dtype_),
                        "set_requires_grad: needs floating-point numbers, got {}", dtype_);
    if (wanted && leaf_ == nullptr) leaf_ = std::make_shared<Leaf>();
    if (leaf_ != nullptr) leaf_->requires_grad = wanted;
    if (!wanted) clear_grad();
    tape_ref_ = {};
    return *this;
}

const Tensor& Tensor::grad() const {
    if (leaf_ == nullptr && tape_ref_.tape != 0) [[unlikely]] {
        fail<AutogradError>(
            "grad: the tensor {} was computed, and gradients are kept for leaf tensors only; get "
            "it from Tape::gradient, and change a leaf in place, as in w.copy_(w - lr * g), "
            "because w = w - lr * g makes another tensor",
            shape_);
    }
    require<AutogradError>(leaf_ != nullptr,
                           "grad: this tensor does not require a gradient (set_requires_grad)");
    return leaf_->grad;
}

void Tensor::set_grad(Tensor grad) {
    require<AutogradError>(leaf_ != nullptr, "set_grad: the tensor is not a leaf");
    require<AutogradError>(leaf_->requires_grad || !grad.defined(), "set_grad: the leaf is frozen");
    require<ShapeError>(!grad.defined() || grad.shape() == shape_,
                        "set_grad: gradient {} for a tensor {}", grad.shape(), shape_);
    require<DTypeError>(!grad.defined() || grad.dtype() == dtype_,
                        "set_grad: gradient of {} for a tensor of {}", grad.dtype(), dtype_);
    leaf_->grad = std::move(grad);
}

void Tensor::clear_grad() {
    if (leaf_ != nullptr) leaf_->grad = Tensor();
}

Tensors TensorRefs::copied() const {
    Tensors copies;
    copies.reserve(size_);
    for (std::size_t i = 0; i < size_; ++i) copies.push_back((*this)[i]);
    return copies;
}

}  // namespace tapestry
