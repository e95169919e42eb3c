// index() in two steps: positions and slices are one view and one tape entry; then the axes indexed
// by tensors are merged into one, from which index_select takes the elements.
#include <tapestry/ops/subscript.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/subview.h>
#include <tapestry/ops/view.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tapestry {

// ---- select and narrow --------------------------------------------------------------------------

namespace {
struct SelectView {
    static constexpr const char* kName = "select";
    int axis;
    std::int64_t i;

    std::string attributes() const { return fmt::format("axis={}, {}", axis, i); }
    Tensor operator()(const Tensor& x) const { return views::select("select", x, axis, i); }
};
}  // namespace

Tensor select(const Tensor& x, int axis, std::int64_t i) {
    check_defined("select", x);
    return take_part(x, SelectView{axis, i});
}

Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length) {
    check_defined("narrow", x);
    const std::int64_t size = x.size(normalize_axis("narrow", axis, x.rank()));
    const std::int64_t first = start < 0 ? start + size : start;
    require<IndexError>(first >= 0 && first <= size && length >= 0 && length <= size - first,
                        "narrow: {} elements from {} on are not within axis {} of {}", length,
                        start, axis, x.shape());
    return slice(x, axis, first, first + length);
}

// ---- positions and slices -----------------------------------------------------------------------

namespace {

using Indices = std::vector<Index>;

template <class T>
const T* as(const Index& index) {
    return std::get_if<T>(&index.choice());
}

// Start and stop of a slice, with defaults for omitted bounds.
std::int64_t start_of(const Slice& s) {
    return s.start.value_or(s.step > 0 ? 0 : std::numeric_limits<std::int64_t>::max());
}
std::int64_t stop_of(const Slice& s) {
    return s.stop.value_or(s.step > 0 ? std::numeric_limits<std::int64_t>::max()
                                      : std::numeric_limits<std::int64_t>::min());
}

Tensor with_new_axis(const Tensor& x, int axis) {
    Shape shape = x.shape();
    shape.insert(axis, 1);
    return views::reshape(x, shape);
}

std::string text_of(const Index& index) {
    const auto bound = [](const std::optional<std::int64_t>& i) {
        return i ? fmt::format("{}", *i) : std::string();
    };
    if (const auto* i = as<std::int64_t>(index)) return fmt::format("{}", *i);
    const auto* s = as<Slice>(index);
    if (s == nullptr) return "new";
    const std::string step = s->step == 1 ? "" : fmt::format(":{}", s->step);
    return fmt::format("{}:{}{}", bound(s->start), bound(s->stop), step);
}

// `where` has a number or a slice for every axis of x, and an entry for each new axis.
struct IndexView {
    static constexpr const char* kName = "index";
    Indices where;

    std::string attributes() const {
        std::string text;
        for (const Index& index : where) text += (text.empty() ? "" : ", ") + text_of(index);
        return text;
    }

    Tensor operator()(const Tensor& x) const {
        Tensor y = x.detach();
        int axis = 0;
        for (const Index& index : where) {
            if (const auto* i = as<std::int64_t>(index)) {
                y = views::select("index", y, axis, *i);
            } else if (const auto* s = as<Slice>(index)) {
                y = views::slice(y, axis++, start_of(*s), stop_of(*s), s->step);
            } else {
                y = with_new_axis(y, axis++);
            }
        }
        return y;
    }
};

int axes_taken(const Index& index) {
    if (as<NewAxis>(index) || as<Ellipsis>(index)) return 0;
    const auto* chosen = as<Tensor>(index);
    return chosen && chosen->defined() && chosen->dtype() == DType::boolean ? chosen->rank() : 1;
}

// One entry for every axis of x: expands the ellipsis and omitted axes.
Indices written_out(const Tensor& x, const Indices& where) {
    int named = 0;
    int ellipses = 0;
    for (const Index& index : where) {
        named += axes_taken(index);
        ellipses += as<Ellipsis>(index) ? 1 : 0;
    }
    require<IndexError>(ellipses <= 1, "index: more than one kEllipsis");
    require<IndexError>(named <= x.rank(), "index: indices for {} axes of a tensor {}", named,
                        x.shape());
    const Indices rest(static_cast<std::size_t>(x.rank() - named), kAll);
    Indices all;
    for (const Index& index : where) {
        if (as<Ellipsis>(index)) {
            all.insert(all.end(), rest.begin(), rest.end());
        } else {
            all.push_back(index);
        }
    }
    if (ellipses == 0) all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

// ---- tensors ------------------------------------------------------------------------------------

// Indices along one axis of x (`named`), and the number of that axis in the view.
struct IndexNumbers {
    Tensor ids;
    int named;
    int axis;
};

// The indices at which the mask is true, axis by axis: the columns of nonzero().
Tensors numbers_of(const Tensor& x, int axis, const Tensor& mask) {
    require<ShapeError>(mask.rank() > 0, "index: a mask of no axes; see where");
    const Shape covered = x.shape().sub(axis, axis + mask.rank());
    require<ShapeError>(mask.shape() == covered,
                        "index: the mask {} does not match axes of sizes {} of a tensor {}",
                        mask.shape(), covered, x.shape());
    const Tensor table = nonzero(mask);
    Tensors columns;
    for (int i = 0; i < mask.rank(); ++i) columns.push_back(views::select("index", table, 1, i));
    return columns;
}

// Moves the tensors out of `where`, where kAll replaces them.
std::vector<IndexNumbers> take_numbers(const Tensor& x, Indices& where) {
    std::vector<IndexNumbers> numbers;
    Indices positions;
    int named = 0;
    int axis = 0;
    for (const Index& index : where) {
        const auto* chosen = as<Tensor>(index);
        if (chosen == nullptr) {
            positions.push_back(index);
            if (!as<NewAxis>(index)) ++named;
            if (!as<std::int64_t>(index)) ++axis;
            continue;
        }
        check_defined("index", *chosen);
        const bool mask = chosen->dtype() == DType::boolean;
        for (const Tensor& ids : mask ? numbers_of(x, named, *chosen) : Tensors{*chosen}) {
            check_dtype("index", ids, DType::i64);
            numbers.push_back({ids, named++, axis++});
            positions.emplace_back(kAll);
        }
    }
    where = positions;
    return numbers;
}

// sum_k ids_k stride_k: one index into all the axes merged into one.
Tensor one_number(const Tensor& x, const std::vector<IndexNumbers>& numbers) {
    Shape shape;
    for (const IndexNumbers& n : numbers) shape = broadcast_shapes("index", shape, n.ids.shape());
    Tensor flat = zeros(shape, DType::i64);
    std::int64_t* to = flat.mutable_data<std::int64_t>();
    for (const IndexNumbers& n : numbers) {
        const std::int64_t size = x.size(n.named);
        const Tensor ids = dense(views::expand(n.ids, shape));
        const std::int64_t* id = ids.data<std::int64_t>();
        for (std::int64_t i = 0; i < flat.numel(); ++i) {
            require<IndexError>(id[i] >= -size && id[i] < size,
                                "index: index {} is outside axis {} of {}", id[i], n.named,
                                x.shape());
            to[i] = to[i] * size + (id[i] < 0 ? id[i] + size : id[i]);
        }
    }
    return flat;
}

// y[..., i..., ...] = x[..., ids0[i...], ids1[i...], ..., ...]
Tensor choose(const Tensor& x, const Tensor& part, const std::vector<IndexNumbers>& numbers) {
    const int first = numbers.front().axis;
    const int last = numbers.back().axis + 1;
    require<ShapeError>(std::cmp_equal(last - first, numbers.size()),
                        "index: the axes that tensors index in {} must be adjacent; transpose it",
                        x.shape());
    const Tensor flat = one_number(x, numbers);
    const Shape& sizes = part.shape();
    const Shape before = sizes.sub(0, first), after = sizes.sub(last, part.rank());
    const Tensor rows = reshape(part, before + Shape{numel(sizes.sub(first, last))} + after);
    const Tensor chosen = index_select(rows, first, views::reshape(flat, {flat.numel()}));
    return reshape(chosen, before + flat.shape() + after);
}

}  // namespace

Tensor index(const Tensor& x, const std::vector<Index>& where) {
    check_defined("index", x);
    IndexView view{written_out(x, where)};
    const std::vector<IndexNumbers> numbers = take_numbers(x, view.where);
    int axis = 0;
    for (const Index& index : view.where) {  // before axes are renumbered in the view
        if (const auto* i = as<std::int64_t>(index)) views::select("index", x, axis, *i);
        if (!as<NewAxis>(index)) ++axis;
    }
    const bool whole = std::all_of(view.where.begin(), view.where.end(), [](const Index& index) {
        const auto* s = as<Slice>(index);
        return s && !s->start && !s->stop && s->step == 1;
    });
    const Tensor part = whole ? x : take_part(x, view);
    return numbers.empty() ? part : choose(x, part, numbers);
}

Tensor Tensor::operator[](std::int64_t i) const { return select(*this, 0, i); }
Tensor Tensor::operator[](const Tensor& chosen) const { return index(*this, {chosen}); }
Tensor Tensor::operator[](std::initializer_list<Index> where) const { return index(*this, where); }

}  // namespace tapestry
