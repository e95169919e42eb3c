// Tensor: a value that refers to shared memory and describes how to walk it.
//
// Copying a tensor copies the description, not the numbers; views (core/views.h) share memory in
// the same way. Core knows nothing of gradients. It only keeps two fields for the layer above: the
// tensor's place on a tape (TapeRef, a plain number, never an owning pointer) and, for a leaf that
// requires a gradient, the place where its gradient is stored (Leaf). Some ops are members as well;
// core only declares them (see "ops as members").
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/core/recycling.h>
#include <tapestry/core/shape.h>
#include <tapestry/core/storage.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

class Index;
struct Leaf;
struct ParameterPlace;
class RowIterator;

/// Slot `slot` of the tape numbered `tape`; 0: no tape. Tape numbers are never reused, so a tensor
/// that outlives its tape is a constant again.
struct TapeRef {
    std::uint64_t tape = 0;  ///< 0: none
    int slot = -1;           ///< index of its place on that tape
};

/// A shape and dtype, and shared memory that holds the elements. A value: copies share the memory.
class Tensor {
public:
    /// Undefined: no shape, no memory; means "no tensor" in optional arguments.
    Tensor() = default;

    /// Uninitialised memory of this shape. See core/create.h for tensors with values.
    Tensor(const Shape& shape, DType dtype);

    /// A view of `storage`, starting `offset` elements in. For view functions, not for users.
    Tensor(StoragePtr storage, const Shape& shape, const Strides& strides, std::int64_t offset,
           DType dtype);

    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) = default;
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & = default;
    /// x[i] = y would only change a temporary: write x[i].copy_(y).
    Tensor& operator=(const Tensor&) && = delete;

    bool defined() const { return storage_ != nullptr; }  ///< false: no tensor
    DType dtype() const { return dtype_; }                ///< type of the elements
    const Shape& shape() const { return shape_; }         ///< size of each axis; [] for a scalar
    const Strides& strides() const { return strides_; }   ///< in elements
    std::int64_t offset() const { return offset_; }       ///< in elements; 0 if there are none
    int rank() const { return shape_.rank(); }     ///< number of axes, at most Shape::kMaxRank
    std::int64_t numel() const { return numel_; }  ///< number of elements; 1 for a scalar
    /// Size of `axis`; negative axes count from the end. Throws ShapeError outside the rank.
    std::int64_t size(int axis) const;
    /// Size of the elements, numel() times size_of(dtype()).
    std::size_t bytes() const { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
    /// Row-major and without gaps.
    bool is_contiguous() const;
    /// The memory, shared with views and copies.
    const StoragePtr& storage() const { return storage_; }
    /// Whether nothing else shares this memory, which may then be reused in place.
    bool owns_alone() const { return storage_.use_count() == 1 && !storage_->is_borrowed(); }

    /// The first element. Throws DTypeError unless T is the element type. Elements are at data +
    /// sum(index * stride).
    template <class T>
    const T* data() const {
        check_access(dtype_of<T>());
        return reinterpret_cast<const T*>(storage_->data()) + offset_;
    }

    /// The same for writing: counts as an in-place change (see Storage::version).
    template <class T>
    T* mutable_data() {
        check_access(dtype_of<T>());
        storage_->bump_version();
        return reinterpret_cast<T*>(storage_->data()) + offset_;
    }

    /// The only element, as T. Throws ShapeError unless the tensor has exactly one.
    template <class T = double>
    T item() const {
        return visit_dtype(dtype_, [&](auto zero) {
            const auto* only = data<decltype(zero)>();  // throws if undefined
            require<ShapeError>(numel_ == 1, "item: needs one element, got shape {}", shape_);
            return convert_element<T>(*only);
        });
    }

    /// The element at `index` as T, one index per axis; negative ones count from the end. Throws
    /// IndexError.
    template <class T = double>
    T at(std::initializer_list<std::int64_t> index) const {
        const std::int64_t where = offset_of(index);
        return visit_dtype(
            dtype_, [&](auto zero) { return convert_element<T>(data<decltype(zero)>()[where]); });
    }

    /// x[2], x[mask], x[ids], and x[{0, Slice{1, 3}, kAll}]: parts of x, see ops/subscript.h.
    /// Defined in ops because a tape must record them.
    Tensor operator[](std::int64_t i) const;
    Tensor operator[](const Tensor& chosen) const;
    Tensor operator[](std::initializer_list<Index> where) const;

    // ---- ops as members -------------------------------------------------------------------------
    // x.sum() is sum(x): recorded alike, with the same errors. docs/ops.md has each; a member must
    // be declared in its class, so they are here and their definitions in ops/methods.cpp. The
    // members are the ops that are usually called on one tensor in the middle of an expression.
    // There is no conversion to bool: `if (a == b)` does not compile; use allclose(a, b) or
    // (a == b).all().item<bool>().

    // Reductions over `axes`, {} meaning all (ops/reduction.h).
    /// The sum over `axes`.
    Tensor sum(const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// The mean over `axes`.
    Tensor mean(const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// The largest over `axes`.
    Tensor max(const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// The smallest over `axes`.
    Tensor min(const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// x.sum(0) is x.sum({0}).
    template <std::same_as<int> Axis>
    Tensor sum(Axis axis, bool keepdim = false) const {
        return sum(std::vector<int>{axis}, keepdim);
    }
    /// x.mean(0) is x.mean({0}).
    template <std::same_as<int> Axis>
    Tensor mean(Axis axis, bool keepdim = false) const {
        return mean(std::vector<int>{axis}, keepdim);
    }
    /// x.max(0) is x.max({0}).
    template <std::same_as<int> Axis>
    Tensor max(Axis axis, bool keepdim = false) const {
        return max(std::vector<int>{axis}, keepdim);
    }
    /// x.min(0) is x.min({0}).
    template <std::same_as<int> Axis>
    Tensor min(Axis axis, bool keepdim = false) const {
        return min(std::vector<int>{axis}, keepdim);
    }
    /// The variance over `axes`.
    Tensor var(const std::vector<int>& axes = {}, int correction = 1, bool keepdim = false) const;
    /// The standard deviation over `axes`.
    Tensor stddev(const std::vector<int>& axes = {}, int correction = 1,
                  bool keepdim = false) const;
    /// The p-norm over `axes`.
    Tensor norm(double p = 2, const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// Whether any is nonzero over `axes`.
    Tensor any(const std::vector<int>& axes = {}, bool keepdim = false) const;
    /// Whether all are nonzero over `axes`.
    Tensor all(const std::vector<int>& axes = {}, bool keepdim = false) const;
    Tensor argmax(int axis = -1, bool keepdim = false) const;  ///< index of the largest
    Tensor argmin(int axis = -1, bool keepdim = false) const;  ///< index of the smallest

    // Another shape, order of axes or dtype (ops/view.h, ops/cast.h).
    /// The elements in another shape; one size may be -1.
    Tensor reshape(const Shape& shape) const;
    /// x.reshape(2, -1) is x.reshape({2, -1}).
    template <std::integral... Sizes>
    requires(sizeof...(Sizes) > 0) Tensor reshape(Sizes... sizes)
    const { return reshape(Shape{static_cast<std::int64_t>(sizes)...}); }
    Tensor transpose(int axis0, int axis1) const;         ///< two axes exchanged
    Tensor permute(const std::vector<int>& order) const;  ///< axes in this order
    Tensor flatten(int first = 0, int last = -1) const;   ///< these axes merged into one
    Tensor squeeze(int axis) const;                       ///< without this axis of size 1
    Tensor unsqueeze(int axis) const;                     ///< with a new axis of size 1
    Tensor expand(const Shape& shape) const;              ///< repeated, without a copy
    Tensor contiguous() const;                            ///< in row-major order without gaps
    Tensor to(DType dtype) const;                         ///< converted
    /// The transposed matrix. Throws ShapeError unless there are two axes; transpose(-2, -1) is the
    /// one of every matrix in a batch.
    Tensor T() const;

    // Functions of each element (ops/elementwise.h, ops/arithmetic.h, ops/activation.h).
    Tensor abs() const;                           ///< |x|
    Tensor square() const;                        ///< x^2
    Tensor sqrt() const;                          ///< square root
    Tensor exp() const;                           ///< e^x
    Tensor log() const;                           ///< natural logarithm
    Tensor pow(double exponent) const;            ///< x^exponent
    Tensor clamp(double low, double high) const;  ///< min(max(x, low), high)
    Tensor tanh() const;                          ///< hyperbolic tangent
    Tensor sigmoid() const;                       ///< 1 / (1 + e^-x)
    Tensor relu() const;                          ///< max(x, 0)

    Tensor softmax(int axis = -1) const;      ///< along one axis (ops/softmax.h)
    Tensor log_softmax(int axis = -1) const;  ///< its logarithm
    Tensor cumsum(int axis) const;            ///< running sums (ops/scan.h)
    Tensor matmul(const Tensor& b) const;     ///< matrix product (ops/matmul.h)

    /// `for (const Tensor& row : x)` runs through x[0], x[1], ... along the first axis: views, with
    /// one gradient for all, as unbind (ops/join.h). Throws ShapeError for a scalar.
    RowIterator begin() const;
    std::default_sentinel_t end() const { return {}; }  ///< beyond the last row

    /// All elements in row-major order, converted to T.
    template <class T>
    std::vector<T> to_vector() const;

    /// The same numbers in new memory; a constant.
    Tensor clone() const;
    /// The same memory, as a constant: no gradient flows through it.
    Tensor detach() const;

    /// Sets all numbers to `value`, in place. This handle becomes a constant unless it is a leaf.
    /// Throws ShapeError for an expanded tensor, whose elements share memory.
    Tensor& fill_(double value);
    /// Changes the numbers in place to those of `source`, which is broadcast and converted and may
    /// share this tensor's memory; otherwise as fill_(). Throws ShapeError also if `source` does
    /// not broadcast to this shape.
    Tensor& copy_(const Tensor& source);

    /// Whether this is a leaf that requires a gradient.
    bool requires_grad() const;
    /// Makes this tensor, and copies made of it afterwards, a leaf whose gradient a tape computes.
    /// With false a leaf is frozen: it and all copies of it, including the one in a module, are
    /// constants to the tapes from now on, and the gradient is discarded; with true it requires a
    /// gradient again. (detach() makes a constant of a single handle.) Throws DTypeError unless
    /// floating.
    Tensor& set_requires_grad(bool wanted = true);
    /// The gradient accumulated by the tapes so far; undefined if there is none yet, or if the leaf
    /// is frozen. Throws AutogradError if this is not a leaf.
    const Tensor& grad() const;
    /// Replaces the gradient; an undefined one clears it. Throws AutogradError unless this is a
    /// leaf that is not frozen, ShapeError and DTypeError unless the gradient has its shape and
    /// dtype.
    void set_grad(Tensor grad);
    /// Clears the gradient, if there is one.
    void clear_grad();

    // For the autograd layer.
    /// Its place on a tape, if an op there computed it.
    const TapeRef& tape_ref() const { return tape_ref_; }
    /// Sets that place. For the tape, not for users.
    void set_tape_ref(TapeRef ref) { tape_ref_ = ref; }
    /// State shared by the copies of a leaf; null for any other tensor.
    const std::shared_ptr<Leaf>& leaf() const { return leaf_; }

private:
    void check_access(DType wanted) const;
    std::int64_t offset_of(std::initializer_list<std::int64_t> index) const;

    std::int64_t numel_ = 0;
    StoragePtr storage_;
    Shape shape_;
    Strides strides_;
    std::int64_t offset_ = 0;
    DType dtype_ = DType::f32;
    TapeRef tape_ref_;
    std::shared_ptr<Leaf> leaf_;
};

/// A list of tensors, whose memory is reused (core/recycling.h).
using Tensors = RecycledVector<Tensor>;

/// The parts of a tensor along its first axis, one after the other. Made by Tensor::begin().
class RowIterator {
public:
    /// Starts at the first of `rows`.
    explicit RowIterator(Tensors rows) : rows_(std::move(rows)) {}

    const Tensor& operator*() const { return rows_[at_]; }  ///< this part
    /// Moves to the next one.
    RowIterator& operator++() {
        ++at_;
        return *this;
    }
    /// Whether it is beyond the last.
    bool operator==(std::default_sentinel_t) const { return at_ == rows_.size(); }

private:
    Tensors rows_;
    std::size_t at_ = 0;
};

/// References to several tensors. A parameter type: the tensors of an argument written {x, weight}
/// are not copied for the call, and must not be kept beyond it.
class TensorRefs {
public:
    /// A tensor by reference, made implicitly by {x, weight}.
    struct Ref {
        /// x must live until the end of the call.
        Ref(const Tensor& x) : tensor(&x) {}  // implicit, for braces
        const Tensor* tensor;                 ///< never null
    };
    /// The tensors written in braces.
    TensorRefs(std::initializer_list<Ref> tensors) : refs_(tensors), size_(tensors.size()) {}
    /// The tensors of a list, which is not copied.
    TensorRefs(const Tensors& tensors) : tensors_(tensors.data()), size_(tensors.size()) {}

    std::size_t size() const { return size_; }  ///< number of tensors
    /// Tensor i, unchecked.
    const Tensor& operator[](std::size_t i) const {
        return tensors_ != nullptr ? tensors_[i] : *refs_.begin()[i].tensor;
    }
    /// The tensors as a list, which may be kept.
    Tensors copied() const;

private:
    std::initializer_list<Ref> refs_;
    const Tensor* tensors_ = nullptr;
    std::size_t size_;
};

/// Tensors by name, in order: a module's parameters, a file's contents.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// May replace a gradient: its result is used instead, unless undefined.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;

/// State of a leaf, shared among its copies.
struct Leaf {
    Tensor grad;                      ///< accumulated so far; undefined if none arrived
    std::vector<GradientHook> hooks;  ///< called for each gradient that arrives, in order
    bool requires_grad = true;        ///< false: frozen

    // Its owners, for errors about parameters that are not trained; plain data here.
    std::shared_ptr<const ParameterPlace> place;  ///< in a module (nn/module/module.h)
    int optimizers = 0;                           ///< that hold it now
    /// A leaf in a module but in no optimiser that got a gradient in the same walk.
    std::weak_ptr<const Leaf> untrained;
};

inline bool Tensor::requires_grad() const { return leaf_ != nullptr && leaf_->requires_grad; }

template <class T>
std::vector<T> Tensor::to_vector() const {
    const Tensor dense = is_contiguous() ? *this : clone();
    std::vector<T> values(static_cast<std::size_t>(numel_));
    visit_dtype(dtype_, [&](auto zero) {
        const auto* from = dense.data<decltype(zero)>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert_element<T>(from[i]);
    });
    return values;
}

/// `x` exactly as NumPy 1.24 prints it, str(array) with its default options, so output can be
/// compared with NumPy's.
///
///     [[1.   0.25]
///      [2.   3.  ]]
///
/// 8 digits, lines of 75 columns, the first and last 3 of an axis when there are more than 1000
/// elements. A tensor of rank 0 is a bare number with all its digits. An undefined tensor is
/// "undefined".
std::string to_string(const Tensor& x);
/// std::cout << x: writes to_string(x), or a dtype's name.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, DType dtype);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::Tensor> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Tensor& x, fmt::format_context& context) const;
};
