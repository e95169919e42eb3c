// Convolution and pooling as loops over images [N, C, H, W] and their windows; interpolation pixel
// by pixel.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <cmath>

namespace tapestry::reference {

/// Layout of the windows along one axis.
struct Steps {
    std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
    bool ceil = false;  // windows as long as elements are left and one begins inside

    std::int64_t places(std::int64_t size) const {
        const std::int64_t whole = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
        if (!ceil) return whole;
        std::int64_t count = 1;
        while ((count - 1) * stride - padding + kernel < size + padding &&
               count * stride - padding < size) {
            ++count;
        }
        return count;
    }
    /// The position that element i of window p reads; may be outside the image.
    std::int64_t at(std::int64_t p, std::int64_t i) const {
        return p * stride + i * dilation - padding;
    }
};

struct Windows {
    Steps down = {}, across = {};
};

/// Calls f(i, j, pixel) for each element (i, j) of window (p, q) that is inside image n, for
/// at = [n, any, p, q]; `pixel` is its offset in channel `channel` of x.
template <class F>
void for_each_pixel(const Shape& x, const Windows& w, const Shape& at, std::int64_t channel,
                    const F& f) {
    for (std::int64_t i = 0; i < w.down.kernel; ++i) {
        for (std::int64_t j = 0; j < w.across.kernel; ++j) {
            const std::int64_t row = w.down.at(at[2], i), column = w.across.at(at[3], j);
            if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
            f(i, j, ((at[0] * x[1] + channel) * x[2] + row) * x[3] + column);
        }
    }
}

/// y[n, o, p, q] = bias[o] + sum_c,i,j weight[o, c, i, j] x[n, c, ...]; bias may be null. The
/// weight has the kernel's sizes.
template <class T>
Array<T> conv2d(const Array<T>& x, const Array<T>& weight, const Array<T>* bias, Windows w,
                std::int64_t groups) {
    w.down.kernel = weight.shape[2];
    w.across.kernel = weight.shape[3];
    const std::int64_t outputs = weight.shape[0], channels = weight.shape[1];
    Array<T> y({x.shape[0], outputs, w.down.places(x.shape[2]), w.across.places(x.shape[3])});
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        const std::int64_t o = at[1];
        if (bias != nullptr) y[flat] = (*bias)[o];
        for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t channel = o * groups / outputs * channels + c;
            for_each_pixel(x.shape, w, at, channel, [&](auto i, auto j, auto pixel) {
                const std::int64_t row = (o * channels + c) * w.down.kernel + i;
                y[flat] += weight[row * w.across.kernel + j] * x[pixel];
            });
        }
    }
    return y;
}

/// Each pixel of x [N, C, H, W] adds its multiple of the weight [C, O / groups, h, w] to the pixels
/// that its window reads in conv2d; bias may be null. The result has `down` and `across` rows and
/// columns more than conv2d needs to give x's.
template <class T>
Array<T> conv_transpose2d(const Array<T>& x, const Array<T>& weight, const Array<T>* bias,
                          Windows w, std::int64_t down, std::int64_t across, std::int64_t groups) {
    w.down.kernel = weight.shape[2];
    w.across.kernel = weight.shape[3];
    const auto size = [](const Steps& steps, std::int64_t places) {
        return (places - 1) * steps.stride + steps.dilation * (steps.kernel - 1) + 1 -
               2 * steps.padding;
    };
    const std::int64_t each = weight.shape[1], inputs = x.shape[1];
    Array<T> y({x.shape[0], each * groups, size(w.down, x.shape[2]) + down,
                size(w.across, x.shape[3]) + across});
    for (std::int64_t flat = 0; bias != nullptr && flat < y.size(); ++flat) {
        y[flat] = (*bias)[unravel(y.shape, flat)[1]];
    }
    for (std::int64_t flat = 0; flat < x.size(); ++flat) {
        const Shape at = unravel(x.shape, flat);
        const std::int64_t c = at[1];
        for (std::int64_t o = 0; o < each; ++o) {
            const std::int64_t channel = c * groups / inputs * each + o;
            for_each_pixel(y.shape, w, at, channel, [&](auto i, auto j, auto pixel) {
                const std::int64_t row = (c * each + o) * w.down.kernel + i;
                y[pixel] += weight[row * w.across.kernel + j] * x[flat];
            });
        }
    }
    return y;
}

/// y[n, c, p, q] = f(the elements of the window that are inside the image)
template <class T, class F>
Array<T> pool(const Array<T>& x, const Windows& w, const F& f) {
    Array<T> y({x.shape[0], x.shape[1], w.down.places(x.shape[2]), w.across.places(x.shape[3])});
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        std::vector<T> inside;
        for_each_pixel(x.shape, w, at, at[1],
                       [&](auto, auto, auto pixel) { inside.push_back(x[pixel]); });
        y[flat] = f(inside);
    }
    return y;
}

template <class T>
Array<T> max_pool(const Array<T>& x, const Windows& w) {
    return pool(x, w, [](const std::vector<T>& inside) {
        T largest = inside.front();
        for (const T& value : inside) largest = largest < value ? value : largest;
        return largest;
    });
}

template <class T>
Array<T> avg_pool(const Array<T>& x, const Windows& w, bool count_padding) {
    return pool(x, w, [&](const std::vector<T>& inside) {
        T sum(0);
        for (const T& value : inside) sum += value;
        const auto all = static_cast<std::size_t>(w.down.kernel * w.across.kernel);
        return sum / T(static_cast<double>(count_padding ? all : inside.size()));
    });
}

/// The same with ceil: padding counts, what is beyond it does not.
template <class T>
Array<T> avg_pool_ceil(const Array<T>& x, const Windows& w) {
    Array<T> y({x.shape[0], x.shape[1], w.down.places(x.shape[2]), w.across.places(x.shape[3])});
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        for_each_pixel(x.shape, w, at, at[1], [&](auto, auto, auto pixel) { y[flat] += x[pixel]; });
        std::int64_t counted = 0;
        for (std::int64_t i = 0; i < w.down.kernel * w.across.kernel; ++i) {
            const bool rows = w.down.at(at[2], i / w.across.kernel) < x.shape[2] + w.down.padding;
            const bool columns =
                w.across.at(at[3], i % w.across.kernel) < x.shape[3] + w.across.padding;
            counted += rows && columns;
        }
        y[flat] = y[flat] / T(static_cast<double>(counted));
    }
    return y;
}

/// The mean of rows floor(p H / P) to ceil((p + 1) H / P) - 1 and columns likewise.
template <class T>
Array<T> adaptive_avg_pool(const Array<T>& x, std::int64_t rows, std::int64_t columns) {
    Array<T> y({x.shape[0], x.shape[1], rows, columns});
    const std::int64_t h = x.shape[2], w = x.shape[3];
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        double count = 0;
        for (std::int64_t i = 0; i < h; ++i) {
            for (std::int64_t j = 0; j < w; ++j) {
                const bool inside = (i + 1) * rows > at[2] * h && i * rows < (at[2] + 1) * h &&
                                    (j + 1) * columns > at[3] * w && j * columns < (at[3] + 1) * w;
                if (!inside) continue;
                y[flat] += x[((at[0] * x.shape[1] + at[1]) * h + i) * w + j];
                ++count;
            }
        }
        y[flat] = y[flat] / T(count);
    }
    return y;
}

/// An array [N, C, L] as images with one row, and back.
template <class T>
Array<T> as_image(Array<T> x) {
    x.shape.insert(2, 1);
    return x;
}
template <class T>
Array<T> as_row(Array<T> x) {
    x.shape.erase(2);
    return x;
}

// ---- interpolation ------------------------------------------------------------------------------

/// The weight of pixel i of `from` in pixel p of `to`.
inline double interpolation_weight(std::int64_t from, std::int64_t to, std::int64_t i,
                                   std::int64_t p, bool linear, bool corners = false) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    if (!linear)
        return std::floor(static_cast<double>(p) * scale) == static_cast<double>(i) ? 1 : 0;
    const double edge = static_cast<double>(from - 1);
    const double centres = std::clamp((static_cast<double>(p) + 0.5) * scale - 0.5, 0.0, edge);
    const double between =
        to == 1 ? 0 : static_cast<double>(p * (from - 1)) / static_cast<double>(to - 1);
    const double at = corners ? between : centres;
    return std::max(0.0, 1 - std::abs(at - static_cast<double>(i)));
}

/// y[n, c, p, q] = sum_i,j weight(i, p) weight(j, q) x[n, c, i, j]
template <class T>
Array<T> interpolate(const Array<T>& x, std::int64_t rows, std::int64_t columns, bool linear,
                     bool corners = false) {
    Array<T> y({x.shape[0], x.shape[1], rows, columns});
    for (std::int64_t flat = 0; flat < y.size(); ++flat) {
        const Shape at = unravel(y.shape, flat);
        for (std::int64_t i = 0; i < x.shape[2]; ++i) {
            for (std::int64_t j = 0; j < x.shape[3]; ++j) {
                const double weight =
                    interpolation_weight(x.shape[2], rows, i, at[2], linear, corners) *
                    interpolation_weight(x.shape[3], columns, j, at[3], linear, corners);
                const std::int64_t plane = at[0] * x.shape[1] + at[1];
                y[flat] += T(weight) * x[(plane * x.shape[2] + i) * x.shape[3] + j];
            }
        }
    }
    return y;
}

}  // namespace tapestry::reference
