// Printing in three steps: select the elements to show, format them as words of equal width
// (Column, per element type), and lay out the words between brackets (Layout). The rules are those
// of NumPy 1.24's array2string, found by comparing output; the code is ours. At the end: fmt's
// formatters for tensors and element types.
#include <tapestry/core/tensor.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <string_view>

namespace tapestry {
namespace {

constexpr std::int64_t kThreshold = 1000;  // more elements than this are summarised
constexpr std::int64_t kEdge = 3;          // to this many at each end of an axis
constexpr int kPrecision = 8;              // digits after the point
constexpr std::size_t kLineWidth = 75;

// ---- one number ---------------------------------------------------------------------------------

// 0.d1d2d3... x 10^exponent, without the sign. Zero is the digit 0 with exponent 1.
struct Decimal {
    std::string digits;
    int exponent = 0;
};

Decimal parse_scientific(std::string_view text) {
    const auto e = text.find('e');
    Decimal result;
    std::copy_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(e),
                 std::back_inserter(result.digits), [](char c) { return c != '.'; });
    const char* exponent = text.data() + e + 1;
    if (*exponent == '+') ++exponent;
    std::from_chars(exponent, text.data() + text.size(), result.exponent);
    ++result.exponent;
    while (result.digits.size() > 1 && result.digits.back() == '0') result.digits.pop_back();
    return result;
}

// The fewest digits that parse back to the same T.
template <class T>
requires kIsNarrow<T> Decimal shortest(T x) {
    const float size = std::abs(x);
    char text[64];
    for (int precision = 0;; ++precision) {
        const auto end =
            std::to_chars(text, text + sizeof(text), size, std::chars_format::scientific, precision)
                .ptr;
        double back = 0;
        std::from_chars(text, end, back);
        if (T(back) == size) return parse_scientific({text, static_cast<std::size_t>(end - text)});
    }
}

template <class T>
Decimal shortest(T x) {
    char text[64];
    const auto end =
        std::to_chars(text, text + sizeof(text), std::abs(x), std::chars_format::scientific).ptr;
    return parse_scientific({text, static_cast<std::size_t>(end - text)});
}

// Also for 16-bit types, which not every standard library treats as numbers.
template <class T>
bool is_finite(T x) {
    return std::isfinite(static_cast<double>(x));
}

std::string sign_of(double x) { return std::signbit(x) ? "-" : ""; }

// A number as text: "12." and "5", the two sides of its point; and "+07", its exponent if any.
struct Parts {
    std::string whole;
    std::string fraction;
    std::string exponent;
};

Parts positional(double x, const Decimal& d) {
    std::string digits = d.digits;
    if (d.exponent < 1) digits.insert(0, static_cast<std::size_t>(1 - d.exponent), '0');
    const auto whole = static_cast<std::size_t>(std::max(d.exponent, 1));
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    return {sign_of(x) + digits.substr(0, whole), digits.substr(whole), ""};
}

// The exact value of x rounded to kPrecision digits after the point. x < 1e8.
Parts positional(double x) {
    char text[64];
    const auto end =
        std::to_chars(text, text + sizeof(text), std::abs(x), std::chars_format::fixed, kPrecision)
            .ptr;
    const std::string_view rounded(text, static_cast<std::size_t>(end - text));
    const auto point = rounded.find('.');
    std::string fraction(rounded.substr(point + 1));
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return {sign_of(x) + std::string(rounded.substr(0, point)), fraction, ""};
}

// The fewest digits that identify x; its exact digits if those are too many, or end before the
// point: the float 73220848 is not shown as 73220850, although that identifies it.
template <class T>
Parts in_column(T x) {
    const Decimal d = shortest(x);
    const auto count = static_cast<int>(d.digits.size());
    const bool fits = count >= d.exponent && count - d.exponent <= kPrecision;
    return fits ? positional(x, d) : positional(x);
}

Parts scientific(double x, const Decimal& d) {
    const int exponent = x == 0 ? 0 : d.exponent - 1;
    return {sign_of(x) + d.digits.substr(0, 1), d.digits.substr(1),
            fmt::format("{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent))};
}

// The exact value of x rounded to `precision` digits after the first.
Parts scientific(double x, int precision) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof(text), std::abs(x),
                                   std::chars_format::scientific, precision)
                         .ptr;
    return scientific(x, parse_scientific({text, static_cast<std::size_t>(end - text)}));
}

// The fewest digits that identify x, or x rounded if those are too many.
template <class T>
Parts scientific(T x) {
    const Decimal d = shortest(x);
    return d.digits.size() > kPrecision + 1 ? scientific(x, kPrecision) : scientific(x, d);
}

std::string not_finite(double x) { return std::isnan(x) ? "nan" : sign_of(x) + "inf"; }

// ---- words of one width -------------------------------------------------------------------------

using Words = std::vector<std::string>;

// Whether to use powers of ten: the numbers span more than fixed notation shows well.
template <class T>
bool needs_exponent(const std::vector<T>& values) {
    using Real = Compute<T>;
    Real largest = 0;
    Real smallest = std::numeric_limits<Real>::infinity();
    for (const Real x : values) {
        if (!is_finite(x) || x == 0) continue;
        largest = std::max(largest, std::abs(x));
        smallest = std::min(smallest, std::abs(x));
    }
    return largest > 0 && (largest >= Real(1e8) || static_cast<double>(smallest) < 0.0001 ||
                           largest / smallest > Real(1000));
}

// The width that a column's finite numbers need on each side of the point, and for the exponent.
struct Widths {
    std::size_t whole = 0;
    std::size_t fraction = 0;
    std::size_t exponent = 0;  // with its sign
};

std::string padded(const Parts& parts, const Widths& widths) {
    std::string word(widths.whole - parts.whole.size(), ' ');
    word += parts.whole + '.' + parts.fraction;
    const std::size_t missing = widths.fraction - parts.fraction.size();
    if (widths.exponent == 0) return word + std::string(missing, ' ');
    word += std::string(missing, '0') + 'e' + parts.exponent[0];
    return word + std::string(widths.exponent - parts.exponent.size(), '0') +
           parts.exponent.substr(1);
}

template <class T>
Words words_of(const std::vector<T>& values) {
    const bool exponent = needs_exponent(values);
    std::vector<Parts> parts;
    Widths widths;
    std::size_t other = 0;  // longest nan or inf
    for (const T x : values) {
        if (!is_finite(x)) {
            other = std::max(other, not_finite(x).size());
            parts.emplace_back();
            continue;
        }
        parts.push_back(exponent ? scientific(x) : in_column(x));
        widths.whole = std::max(widths.whole, parts.back().whole.size());
        widths.fraction = std::max(widths.fraction, parts.back().fraction.size());
        widths.exponent = std::max(widths.exponent, parts.back().exponent.size());
    }
    // Everything to the right of `whole`: a point, the fraction, and "e" with the exponent.
    const std::size_t rest = 1 + widths.fraction + (exponent ? 1 + widths.exponent : 0);
    if (other > widths.whole + rest) widths.whole = other - rest;
    Words words;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const T x = values[i];
        if (!is_finite(x)) {
            words.push_back(fmt::format("{:>{}}", not_finite(x), widths.whole + rest));
        } else if (exponent) {  // all with the most digits needed: real ones, not zeros
            words.push_back(padded(scientific(x, static_cast<int>(widths.fraction)), widths));
        } else {
            words.push_back(padded(parts[i], widths));
        }
    }
    return words;
}

Words words_of(const std::vector<std::int64_t>& values) {
    std::size_t width = 0;
    for (const std::int64_t x : values) width = std::max(width, fmt::formatted_size("{}", x));
    Words words;
    for (const std::int64_t x : values) words.push_back(fmt::format("{:>{}}", x, width));
    return words;
}

Words words_of(const std::vector<bool>& values) {
    Words words;
    for (const bool x : values) words.emplace_back(x ? " True" : "False");
    return words;
}

// A tensor of rank 0: only the number, with all its digits.
template <class T>
std::string alone(T x) {
    if (!is_finite(x)) return not_finite(x);
    const double size = std::abs(static_cast<double>(x));
    if (x == 0 || (size >= 1e-4 && size < 1e16)) {
        const Parts parts = positional(x, shortest(x));
        return parts.whole + '.' + (parts.fraction.empty() ? "0" : parts.fraction);
    }
    const Parts parts = scientific(x, shortest(x));
    return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + 'e' +
           parts.exponent;
}

std::string alone(std::int64_t x) { return fmt::format("{}", x); }
std::string alone(bool x) { return x ? "True" : "False"; }

// ---- between brackets ---------------------------------------------------------------------------

class Layout {
public:
    explicit Layout(const Tensor& x) : x_(x), summarised_(x.numel() > kThreshold) {}

    std::string text() {
        words_ = visit_dtype(x_.dtype(), [this](auto zero) {
            std::vector<decltype(zero)> seen;
            collect(x_.data<decltype(zero)>(), 0, seen);
            return words_of(seen);
        });
        return block(0, " ", kLineWidth);
    }

private:
    bool is_cut(int axis) const { return summarised_ && x_.size(axis) > 2 * kEdge; }

    // Calls f(index) for each index shown along `axis`, and gap() where some are left out.
    template <class F, class Gap>
    void for_each_seen(int axis, F&& f, Gap&& gap) const {
        const std::int64_t size = x_.size(axis);
        for (std::int64_t i = 0; i < size; ++i) {
            if (is_cut(axis) && i == kEdge) {
                gap();
                i = size - kEdge;
            }
            f(i);
        }
    }

    template <class T>
    void collect(const T* from, int axis, std::vector<T>& seen) const {
        if (axis == x_.rank()) {
            seen.push_back(*from);
            return;
        }
        const std::int64_t stride = x_.strides()[axis];
        for_each_seen(
            axis, [&](std::int64_t i) { collect(from + i * stride, axis + 1, seen); }, [] {});
    }

    // Lays out axes `axis` and up, at the indices that the words laid out so far have reached.
    // Lines after the first begin with `indent`; `width` shrinks by one for each closing bracket.
    std::string block(int axis, const std::string& indent, std::size_t width) {
        const std::string inner =
            axis + 1 == x_.rank() ? row(axis, indent, width) : rows(axis, indent, width);
        return '[' + inner.substr(indent.size()) + ']';
    }

    std::string row(int axis, const std::string& indent, std::size_t width) {
        std::string done;
        std::string line = indent;
        const auto add = [&](const std::string& word) {
            if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
                done += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
                line = indent;
            }
            line += word + ' ';
        };
        for_each_seen(
            axis, [&](std::int64_t) { add(words_[next_++]); }, [&] { add("..."); });
        line.pop_back();
        return done + line;
    }

    std::string rows(int axis, const std::string& indent, std::size_t width) {
        // One line break between rows, and one blank line more between blocks of each further axis.
        const std::string separator(static_cast<std::size_t>(x_.rank() - axis - 1), '\n');
        std::string text;
        const auto add = [&](const std::string& part) {
            if (!text.empty()) text += separator;
            text += indent + part;
        };
        for_each_seen(
            axis, [&](std::int64_t) { add(block(axis + 1, indent + ' ', width - 1)); },
            [&] { add("..."); });
        return text;
    }

    const Tensor& x_;
    bool summarised_;
    Words words_;
    std::size_t next_ = 0;  // words already laid out
};

}  // namespace

std::string to_string(const Tensor& x) {
    if (!x.defined()) return "undefined";
    if (x.numel() == 0) return "[]";
    if (x.rank() > 0) return Layout(x).text();
    return visit_dtype(x.dtype(), [&x](auto zero) { return alone(*x.data<decltype(zero)>()); });
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Tensor>::format(const tapestry::Tensor& x,
                                                       fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::to_string(x));
}

fmt::appender fmt::formatter<tapestry::DType>::format(tapestry::DType dtype,
                                                      fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", tapestry::name_of(dtype));
}
