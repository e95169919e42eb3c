#include <tapestry/nn/data/image_transforms.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/image_files.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

// A pixel of the result: the weights, of sum 1, of pixels first, first + 1, ... of a line.
struct FilterTaps {
    std::int64_t first;
    std::vector<double> weights;
};

// The triangle filter, for each of `to` pixels of a line that has `from`.
std::vector<FilterTaps> triangle_filter(std::int64_t from, std::int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double width = std::max(scale, 1.0);  // half of the triangle's base
    std::vector<FilterTaps> filter;
    for (std::int64_t i = 0; i < to; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        const auto first =
            std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - width + 0.5)));
        const auto last =
            std::min(from, static_cast<std::int64_t>(std::floor(centre + width + 0.5)));
        FilterTaps taps{first, {}};
        double sum = 0;
        for (std::int64_t j = first; j < last; ++j) {
            const double distance = std::abs(static_cast<double>(j) + 0.5 - centre) / width;
            taps.weights.push_back(std::max(0.0, 1 - distance));
            sum += taps.weights.back();
        }
        for (double& weight : taps.weights) weight /= sum;
        filter.push_back(std::move(taps));
    }
    return filter;
}

// A square channel along its columns, in whole numbers: the same bits on every processor.
std::vector<std::uint8_t> filtered_columns(const std::vector<std::uint8_t>& x, std::int64_t rows,
                                           std::int64_t columns,
                                           const std::vector<FilterTaps>& filter) {
    constexpr int kBits = 22;  // of a weight: 8 of a pixel, and sums fit into 32
    std::vector<std::vector<std::int32_t>> weights;
    for (const FilterTaps& taps : filter) {
        auto& whole = weights.emplace_back();
        for (const double weight : taps.weights) {
            whole.push_back(static_cast<std::int32_t>(std::lround(weight * (1 << kBits))));
        }
    }
    std::vector<std::uint8_t> y;
    y.reserve(static_cast<std::size_t>(rows) * filter.size());
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < filter.size(); ++i) {
            const std::uint8_t* const from = x.data() + row * columns + filter[i].first;
            std::int64_t sum = 1 << (kBits - 1);
            for (std::size_t j = 0; j < weights[i].size(); ++j) sum += from[j] * weights[i][j];
            y.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kBits, 0, 255)));
        }
    }
    return y;
}

std::vector<std::uint8_t> transposed(const std::vector<std::uint8_t>& x, std::int64_t rows,
                                     std::int64_t columns) {
    std::vector<std::uint8_t> y(x.size());
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            y[static_cast<std::size_t>(column * rows + row)] =
                x[static_cast<std::size_t>(row * columns + column)];
        }
    }
    return y;
}

// The filter as a matrix [to, from].
Tensor filter_matrix(std::int64_t from, std::int64_t to, DType dtype) {
    Tensor matrix = zeros({to, from}, DType::f64);
    auto* row = matrix.mutable_data<double>();
    for (const FilterTaps& taps : triangle_filter(from, to)) {
        std::copy(taps.weights.begin(), taps.weights.end(), row + taps.first);
        row += from;
    }
    return cast(matrix, dtype);
}

void check_images(const char* what, const Tensor& x) {
    require<ShapeError>(x.rank() == 4, "{}: needs [N, C, H, W], got {}", what, x.shape());
}

}  // namespace

// ---- images of 8 bits ---------------------------------------------------------------------------

void scale_to_square(DecodedImage& image, std::int64_t side) {
    const std::int64_t height = image.size.height, width = image.size.width;
    const std::int64_t from = std::min(height, width);
    const std::int64_t top = (height - from) / 2, left = (width - from) / 2;
    const std::vector<FilterTaps> filter = triangle_filter(from, side);
    std::vector<std::uint8_t> scaled;
    for (std::int64_t c = 0; c < image.size.channels; ++c) {
        std::vector<std::uint8_t> square;
        for (std::int64_t row = 0; row < from; ++row) {
            const auto* const begin = image.pixels.data() + (c * height + top + row) * width + left;
            square.insert(square.end(), begin, begin + from);
        }
        square = transposed(filtered_columns(square, from, from, filter), from, side);
        square = transposed(filtered_columns(square, side, from, filter), side, side);
        scaled.insert(scaled.end(), square.begin(), square.end());
    }
    image.size.height = image.size.width = side;
    image.pixels = std::move(scaled);
}

void add_colours(DecodedImage& image) {
    if (image.size.channels == 3) return;
    const std::vector<std::uint8_t> grey = image.pixels;
    for (int i = 0; i < 2; ++i) {
        image.pixels.insert(image.pixels.end(), grey.begin(), grey.end());
    }
    image.size.channels = 3;
}

void remove_colours(DecodedImage& image) {
    if (image.size.channels == 1) return;
    const std::size_t area = image.pixels.size() / 3;
    for (std::size_t i = 0; i < area; ++i) {
        const unsigned sum = 299U * image.pixels[i] + 587U * image.pixels[area + i] +
                             114U * image.pixels[2 * area + i];
        image.pixels[i] = static_cast<std::uint8_t>((sum + 500) / 1000);
    }
    image.pixels.resize(area);
    image.size.channels = 1;
}

// ---- tensors ------------------------------------------------------------------------------------

Tensor image_tensor(const ImageSet& images) {
    require(images.count() > 0, "image_tensor: there are no images");
    Tensor x({images.count(), images.size.channels, images.size.height, images.size.width},
             DType::f32);
    auto* to = x.mutable_data<float>();
    for (const std::uint8_t pixel : images.pixels) *to++ = static_cast<float>(pixel) / 255;
    return x;
}

Tensor resize_images(const Tensor& x, const Size2d& size) {
    check_floating("resize_images", x);
    require<ShapeError>(x.rank() >= 2 && x.numel() > 0,
                        "resize_images: needs pixels [..., H, W], got {}", x.shape());
    require<ShapeError>(size.rows > 0 && size.columns > 0,
                        "resize_images: the size must be positive, got {}", size);
    const Tensor rows = filter_matrix(x.size(-2), size.rows, x.dtype());        // [rows, H]
    const Tensor columns = filter_matrix(x.size(-1), size.columns, x.dtype());  // [columns, W]
    return matmul(rows, matmul(x, transpose(columns, 0, 1)));
}

Tensor center_crop(const Tensor& x, const Size2d& size) {
    require<ShapeError>(x.rank() >= 2, "center_crop: needs [..., H, W], got {}", x.shape());
    const std::int64_t height = x.size(-2), width = x.size(-1);
    require<ShapeError>(
        size.rows >= 1 && size.rows <= height && size.columns >= 1 && size.columns <= width,
        "center_crop: {} must be at least 1 and at most {} x {}", size, height, width);
    const std::int64_t top = (height - size.rows) / 2, left = (width - size.columns) / 2;
    return slice(slice(x, -2, top, top + size.rows), -1, left, left + size.columns);
}

Tensor random_crop(const Tensor& x, const Size2d& size, std::int64_t padding,
                   Generator& generator) {
    check_images("random_crop", x);
    require(padding >= 0, "random_crop: padding must be >= 0, got {}", padding);
    const std::int64_t height = x.size(2), width = x.size(3);
    const std::int64_t rows = height + 2 * padding - size.rows;
    const std::int64_t columns = width + 2 * padding - size.columns;
    require<ShapeError>(size.rows >= 1 && size.columns >= 1 && rows >= 0 && columns >= 0,
                        "random_crop: {} does not fit into {} x {} with padding {}", size, height,
                        width, padding);
    Tensor y = zeros({x.size(0), x.size(1), size.rows, size.columns}, x.dtype());
    for (std::int64_t i = 0; i < x.size(0); ++i) {
        // The part's first row and column in the image, which may lie before it.
        const auto draw = [&](std::int64_t places) {
            return static_cast<std::int64_t>(
                generator.below(static_cast<std::uint64_t>(places) + 1));
        };
        const std::int64_t top = draw(rows) - padding, left = draw(columns) - padding;
        const std::int64_t row = std::max<std::int64_t>(top, 0);
        const std::int64_t end_row = std::min(top + size.rows, height);
        const std::int64_t column = std::max<std::int64_t>(left, 0);
        const std::int64_t end_column = std::min(left + size.columns, width);
        if (row >= end_row || column >= end_column) continue;  // padding only
        const auto part = [i](const Tensor& of, std::int64_t r0, std::int64_t r1, std::int64_t c0,
                              std::int64_t c1) {
            return views::slice(views::slice(views::slice(of, 0, i, i + 1), 2, r0, r1), 3, c0, c1);
        };
        part(y, row - top, end_row - top, column - left, end_column - left)
            .copy_(part(x, row, end_row, column, end_column));
    }
    return y;
}

Tensor random_flip(const Tensor& x, double p, Generator& generator) {
    check_images("random_flip", x);
    require(p >= 0 && p <= 1, "random_flip: p must be in [0, 1], got {}", p);
    Tensor y = x.clone();
    const std::int64_t width = x.size(3);
    for (std::int64_t i = 0; i < x.size(0); ++i) {
        if (generator.uniform() >= p) continue;
        const Tensor mirrored = views::slice(x, 3, width - 1, -width - 1, -1);
        views::slice(y, 0, i, i + 1).copy_(views::slice(mirrored, 0, i, i + 1));
    }
    return y;
}

Tensor normalize_channels(const Tensor& x, const std::vector<double>& mean,
                          const std::vector<double>& deviation) {
    check_floating("normalize_channels", x);
    require<ShapeError>(x.rank() >= 3, "normalize_channels: needs [..., C, H, W], got {}",
                        x.shape());
    const std::int64_t channels = x.size(-3);
    require<ShapeError>(std::ssize(mean) == channels && std::ssize(deviation) == channels,
                        "normalize_channels: {} and {} for {}", pluralize(std::ssize(mean), "mean"),
                        pluralize(std::ssize(deviation), "deviation"),
                        pluralize(channels, "channel"));
    for (const double one : deviation) {
        require(one > 0, "normalize_channels: a deviation must be positive, got {}", one);
    }
    const auto per_channel = [&](const std::vector<double>& values) {
        return cast(tensor(values, {channels, 1, 1}), x.dtype());
    };
    return (x - per_channel(mean)) / per_channel(deviation);
}

}  // namespace tapestry
