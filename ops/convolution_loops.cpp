// im2col: each image is copied with its padding, the windows of a strip (some rows of the output,
// or several small images) become the columns of a matrix X, and the sum is a matrix product per
// strip and group:
//
//     output      y [O, PQ]   = w [O, Chw] X [Chw, PQ]
//     to_input    X' [Chw, PQ] = w^T [Chw, O] g [O, PQ], then each element added to its pixel
//     to_weight   w'^T [Chw, O] = X [Chw, PQ] g^T [PQ, O], over all images
//
// A strip's X stays in the L2 cache. Images are shared among threads.
#include <tapestry/ops/convolution_loops.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/kernels/table.h>
#include <tapestry/ops/reduce_axes.h>

#include <algorithm>

namespace tapestry::convolution {
namespace {

// Target for the elements of a strip's X: 256 KiB of f32.
constexpr std::int64_t kStrip = 1 << 16;
// Multiplications worth a thread and the buffers it allocates.
constexpr std::int64_t kSmallProduct = 1 << 20;
// Maximum number of partial sums of the weight's gradient.
constexpr std::int64_t kPieces = 16;

// Throws MemoryError if padded images have more pixels than any memory.
kernels::WindowGrid grid_of(const Plan& plan) {
    const WindowAxis &rows = plan.windows.rows, &columns = plan.windows.columns;
    const auto padded = [](const WindowAxis& axis) {
        return static_cast<double>(axis.size + 2 * axis.padding);
    };
    const double most = 0x1p48 / static_cast<double>(std::max<std::int64_t>(1, plan.input[1]));
    require<MemoryError>(padded(rows) * padded(columns) <= most,
                         "convolution: images {} with padding {} are too large", plan.input,
                         Size2d(rows.padding, columns.padding));
    return {.channels = plan.input[1],
            .height = rows.size + 2 * rows.padding,
            .width = columns.size + 2 * columns.padding,
            .kernel_rows = rows.kernel,
            .kernel_columns = columns.kernel,
            .row_stride = rows.stride,
            .column_stride = columns.stride,
            .row_dilation = rows.dilation,
            .column_dilation = columns.dilation,
            .columns = columns.count()};
}

// A unit of work: images from `image` on, and a range of output rows of each.
struct Strip {
    std::int64_t image;
    kernels::WindowRows windows;
    std::int64_t at;     // offset in an output channel
    std::int64_t width;  // elements per channel, over all its images
};

// Number of images per product: enough to make its rows wide and, if few more are needed, a
// multiple of the vector width, so it reads them in place.
std::int64_t images_together(std::int64_t pixels) {
    constexpr std::int64_t kWide = 64, kWidest = 256, kVector = 16;
    const std::int64_t least = (kWide + pixels - 1) / pixels;
    for (std::int64_t images = least; images * pixels <= kWidest; ++images) {
        if (images * pixels % kVector == 0) return images;
    }
    return least;
}

// Splits images into strips: rows of one image whose windows fit in L2, or several small images.
class Cut {
public:
    explicit Cut(const Plan& plan)
        : rows_(plan.output[2]),
          columns_(plan.output[3]),
          depth_(std::max<std::int64_t>(1, plan.groups * numel(plan.weight.sub(1, 4)))) {
        strip_rows = std::clamp<std::int64_t>(kStrip / (depth_ * columns_), 1, rows_);
        if (strip_rows < rows_) return;
        const std::int64_t pixels = rows_ * columns_;
        images = std::clamp<std::int64_t>(kStrip / (depth_ * pixels), 1, images_together(pixels));
    }

    /// Calls f(strip) for images [begin, end), from top to bottom.
    template <class F>
    void for_each_strip(std::int64_t begin, std::int64_t end, const F& f) const {
        for (std::int64_t n = begin; n < end; n += images) {
            const std::int64_t count = std::min(images, end - n);
            for (std::int64_t first = 0; first < rows_; first += strip_rows) {
                const std::int64_t rows = std::min(strip_rows, rows_ - first);
                f(Strip{n, {count, first, rows}, first * columns_, count * rows * columns_});
            }
        }
    }

    std::int64_t images = 1;
    std::int64_t strip_rows = 1;

private:
    std::int64_t rows_, columns_, depth_;
};

// Images per task: no strip is split, and there is enough work.
std::int64_t images_per_chunk(const Plan& plan) {
    const double all = plan.products();
    const double each = all / static_cast<double>(std::max<std::int64_t>(1, plan.input[0]));
    return std::max(Cut(plan).images, kSmallProduct / static_cast<std::int64_t>(each + 1));
}

// A matrix whose rows are `row` elements apart.
template <class T>
struct Rows {
    T* data;
    std::int64_t row;
};

// A thread's buffers: the padded images of a strip, X, and the images' outputs side by side. Also
// the sizes of one group.
template <class T>
class Block {
public:
    explicit Block(const Plan& plan)
        : depth(numel(plan.weight.sub(1, 4))),
          outputs(plan.weight[0] / plan.groups),
          pixels(plan.output[2] * plan.output[3]),
          cut(plan),
          plan_(plan),
          grid_(grid_of(plan)),
          padded_(zeros(
              {cut.images * grid_.channels * grid_.height * grid_.width + kernels::kUnfoldSlack},
              dtype_of<T>())) {
        const std::int64_t width = cut.images * cut.strip_rows * plan.output[3];
        matrix_ = Tensor({plan.groups * depth * width + 2 * kernels::kNarrowRow}, dtype_of<T>());
        if (cut.images > 1) beside_ = Tensor({plan.weight[0] * width}, dtype_of<T>());
        padded_data_ = padded_.template mutable_data<T>();
        matrix = matrix_.template mutable_data<T>() + kernels::kNarrowRow;
    }

    void clear() { std::fill_n(padded_data_, padded_.numel(), T(0)); }
    /// Fills X with the strip's windows over images x [N, C, H, W]; an image is read with its first
    /// strip.
    void unfold(const T* x, const Strip& s) {
        if (s.windows.first == 0) {
            for_each_plane(s, [&](T* inside, std::int64_t at) {
                kernel_.copy_rows(inside, grid_.width, x + at, width(), height(), width());
            });
        }
        kernel_.unfold(matrix, padded_data_, grid_, s.windows);
    }
    /// Adds X to the padded images; the last strip of an image copies it to dx.
    void fold(T* dx, const Strip& s) {
        if (s.windows.first == 0) clear();
        kernel_.fold(padded_data_, matrix, grid_, s.windows);
        if (s.windows.first + s.windows.rows < plan_.output[2]) return;
        for_each_plane(s, [&](T* inside, std::int64_t at) {
            kernel_.copy_rows(dx + at, width(), inside, grid_.width, height(), width());
        });
    }

    /// The strip's part of g [N, O, P, Q] as a matrix [O, strip.width]: in place, or for several
    /// images copied side by side.
    Rows<const T> read_outputs(const T* g, const Strip& s) {
        if (s.windows.images == 1) return {g + s.image * image_outputs() + s.at, pixels};
        T* const beside = beside_.template mutable_data<T>();
        for_each_image(s, [&](std::int64_t at, std::int64_t place) {
            kernel_.copy_rows(beside + place, s.width, g + at, pixels, plan_.weight[0], pixels);
        });
        return {beside, s.width};
    }
    /// The same for y, which f writes.
    template <class F>
    void write_outputs(T* y, const Strip& s, const F& f) {
        if (s.windows.images == 1) return f({y + s.image * image_outputs() + s.at, pixels});
        T* const beside = beside_.template mutable_data<T>();
        f({beside, s.width});
        for_each_image(s, [&](std::int64_t at, std::int64_t place) {
            kernel_.copy_rows(y + at, pixels, beside + place, s.width, plan_.weight[0], pixels);
        });
    }

    const std::int64_t depth;    // C / G h w
    const std::int64_t outputs;  // O / G
    const std::int64_t pixels;   // P Q
    const Cut cut;
    T* matrix;  // X [G, depth, strip.width]

private:
    std::int64_t height() const { return plan_.windows.rows.size; }
    std::int64_t width() const { return plan_.windows.columns.size; }
    std::int64_t image_outputs() const { return plan_.weight[0] * pixels; }

    // Calls f(offset in y, offset side by side) for each image.
    template <class F>
    void for_each_image(const Strip& s, const F& f) const {
        for (std::int64_t t = 0; t < s.windows.images; ++t) {
            f((s.image + t) * image_outputs(), t * pixels);
        }
    }
    // Calls f(first pixel inside the padding, offset in x) for each channel of each image.
    template <class F>
    void for_each_plane(const Strip& s, const F& f) const {
        const WindowAxis &rows = plan_.windows.rows, &columns = plan_.windows.columns;
        const std::int64_t inside = rows.padding * grid_.width + columns.padding;
        for (std::int64_t plane = 0; plane < s.windows.images * grid_.channels; ++plane) {
            f(padded_data_ + plane * grid_.height * grid_.width + inside,
              (s.image * grid_.channels + plane) * height() * width());
        }
    }

    const Plan& plan_;
    const kernels::WindowGrid grid_;
    const kernels::Unfold<T>& kernel_ = kernels::table<T>().unfold;
    Tensor padded_, matrix_, beside_;
    T* padded_data_;
};

}  // namespace

double Plan::products() const {
    return static_cast<double>(numel(output)) * static_cast<double>(numel(weight.sub(1, 4)));
}

// ---- output -------------------------------------------------------------------------------------

namespace {

template <class T>
void output_of_images(T* y, const T* x, const T* w, const T* bias, const Plan& plan,
                      std::int64_t begin, std::int64_t end) {
    const auto gemm = kernels::table<T>().gemm.gemm;
    Block<T> block(plan);
    block.cut.for_each_strip(begin, end, [&](const Strip& strip) {
        block.unfold(x, strip);
        block.write_outputs(y, strip, [&](const Rows<T>& to) {
            for (std::int64_t o = 0; bias != nullptr && o < plan.weight[0]; ++o) {
                std::fill_n(to.data + o * to.row, strip.width, bias[o]);
            }
            for (std::int64_t g = 0; g < plan.groups; ++g) {
                gemm({.m = block.outputs,
                      .n = strip.width,
                      .k = block.depth,
                      .a = w + g * block.outputs * block.depth,
                      .a_row = block.depth,
                      .a_col = 1,
                      .b = block.matrix + g * block.depth * strip.width,
                      .b_row = strip.width,
                      .b_col = 1,
                      .c = to.data + g * block.outputs * to.row,
                      .c_row = to.row,
                      .accumulate = bias != nullptr},
                     false);
            }
        });
    });
}

}  // namespace

Tensor output(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plan& plan) {
    const Tensor from = dense(x), w = dense(weight);
    const Tensor b = bias.defined() ? dense(bias) : bias;
    Tensor y(plan.output, x.dtype());
    visit_floating("convolution", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* const to = y.mutable_data<T>();
        parallel_for(plan.input[0], images_per_chunk(plan),
                     [&](std::int64_t begin, std::int64_t end) {
                         output_of_images(to, from.data<T>(), w.data<T>(),
                                          b.defined() ? b.data<T>() : nullptr, plan, begin, end);
                     });
    });
    return y;
}

// ---- to_input -----------------------------------------------------------------------------------

namespace {

template <class T>
void inputs_of_images(T* dx, const T* grad, const T* w, const Plan& plan, std::int64_t begin,
                      std::int64_t end) {
    const auto gemm = kernels::table<T>().gemm.gemm;
    Block<T> block(plan);
    block.cut.for_each_strip(begin, end, [&](const Strip& strip) {
        const Rows<const T> from = block.read_outputs(grad, strip);
        for (std::int64_t g = 0; g < plan.groups; ++g) {
            gemm({.m = block.depth,
                  .n = strip.width,
                  .k = block.outputs,
                  .a = w + g * block.outputs * block.depth,
                  .a_row = 1,
                  .a_col = block.depth,
                  .b = from.data + g * block.outputs * from.row,
                  .b_row = from.row,
                  .b_col = 1,
                  .c = block.matrix + g * block.depth * strip.width,
                  .c_row = strip.width},
                 false);
        }
        block.fold(dx, strip);
    });
}

}  // namespace

Tensor to_input(const Tensor& grad, const Tensor& weight, const Plan& plan) {
    const Tensor from = dense(grad), w = dense(weight);
    Tensor dx(plan.input, grad.dtype());
    visit_floating("convolution", grad.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* const to = dx.mutable_data<T>();
        parallel_for(plan.input[0], images_per_chunk(plan),
                     [&](std::int64_t begin, std::int64_t end) {
                         inputs_of_images(to, from.data<T>(), w.data<T>(), plan, begin, end);
                     });
    });
    return dx;
}

// ---- to_weight ----------------------------------------------------------------------------------

namespace {

// Adds these images' part to sum [G, depth, outputs].
template <class T>
void weights_of_images(T* sum, const T* x, const T* grad, const Plan& plan, std::int64_t begin,
                       std::int64_t end) {
    const auto gemm = kernels::table<T>().gemm.gemm;
    Block<T> block(plan);
    block.cut.for_each_strip(begin, end, [&](const Strip& strip) {
        block.unfold(x, strip);
        const Rows<const T> from = block.read_outputs(grad, strip);
        for (std::int64_t g = 0; g < plan.groups; ++g) {
            gemm({.m = block.depth,
                  .n = block.outputs,
                  .k = strip.width,
                  .a = block.matrix + g * block.depth * strip.width,
                  .a_row = strip.width,
                  .a_col = 1,
                  .b = from.data + g * block.outputs * from.row,
                  .b_row = 1,
                  .b_col = from.row,
                  .c = sum + g * block.depth * block.outputs,
                  .c_row = block.outputs,
                  .accumulate = strip.image > begin || strip.windows.first > 0},
                 false);
        }
    });
}

}  // namespace

Tensor to_weight(const Tensor& x, const Tensor& grad, const Plan& plan) {
    const std::int64_t images = plan.input[0], outputs = plan.weight[0] / plan.groups;
    if (images == 0 || numel(plan.weight) == 0) return zeros(plan.weight, x.dtype());
    const Tensor from = dense(x), g = dense(grad);
    const std::int64_t chunk = std::max(images_per_chunk(plan), (images + kPieces - 1) / kPieces);
    const std::int64_t pieces = (images + chunk - 1) / chunk;
    const Shape turned{plan.groups, numel(plan.weight) / plan.weight[0], outputs};
    Tensor sums({pieces, turned[0], turned[1], turned[2]}, x.dtype());
    visit_floating("convolution", x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* const to = sums.mutable_data<T>();
        parallel_for(images, chunk, [&](std::int64_t begin, std::int64_t end) {
            weights_of_images(to + begin / chunk * numel(turned), from.data<T>(), g.data<T>(), plan,
                              begin, end);
        });
    });
    const Tensor sum = reduce_axes(sums, axis_mask("convolution", {0}, 4), Reducer::sum, turned);
    return views::reshape(dense(views::transpose(sum, 1, 2)), plan.weight);
}

}  // namespace tapestry::convolution
