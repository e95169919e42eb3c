#include <tapestry/nn/data/npy_header.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace tapestry::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written little-endian");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMaxText = 1 << 20;

// The dict, which NumPy reads as a literal of Python.
class DictParser {
public:
    DictParser(const std::string& what, std::string_view text) : what_(what), text_(text) {}

    Header parse() {
        Header header;
        bool type = false, order = false, shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = string();
            expect(':');
            if (key == "descr" && !std::exchange(type, true)) {
                header.type = element_type();
            } else if (key == "fortran_order" && !std::exchange(order, true)) {
                header.fortran = boolean();
            } else if (key == "shape" && !std::exchange(shape, true)) {
                header.shape = sizes();
            } else {
                wrong(fmt::format("{} is unknown or given twice", utf8::quoted(key)));
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (at_ != text_.size()) wrong("there is more behind it");
        if (!type || !order || !shape) wrong("descr, fortran_order or shape is missing");
        return header;
    }

private:
    [[noreturn]] void wrong(const std::string& flaw) const {
        fail<IoError>("{}: the header is not NumPy's: {}", what_, flaw);
    }
    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }
    bool accept(char c) {
        skip_space();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) wrong(fmt::format("expected {} at byte {}", c, at_));
    }
    std::string string() {
        skip_space();
        const char quote = at_ < text_.size() ? text_[at_] : ' ';
        if (quote != '\'' && quote != '"') wrong(fmt::format("expected a string at byte {}", at_));
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) wrong("a string does not end");
        const std::string found(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return found;
    }
    bool boolean() {
        skip_space();
        for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
            if (text_.substr(at_).starts_with(word)) {
                at_ += std::strlen(word);
                return value;
            }
        }
        wrong("fortran_order is neither True nor False");
    }
    Shape sizes() {
        std::vector<std::int64_t> found;
        expect('(');
        while (!accept(')')) {
            skip_space();
            std::int64_t size = 0;
            const char* const begin = text_.data() + at_;
            const auto [end, flaw] = std::from_chars(begin, text_.data() + text_.size(), size);
            if (flaw != std::errc() || size < 0) wrong("shape is not a tuple of sizes");
            at_ += static_cast<std::size_t>(end - begin);
            if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
            found.push_back(size);
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        if (found.size() > Shape::kMaxRank) {
            fail<IoError>("{}: {} axes; at most {} are supported", what_, found.size(),
                          Shape::kMaxRank);
        }
        return Shape(found);
    }
    ElementType element_type() {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[') {
            fail<IoError>("{}: its elements are records; save each field by itself", what_);
        }
        const std::string text = string();
        const auto unsupported = [&] {
            fail<IoError>(
                "{}: elements of type {} are not supported; they may be floats of 16 to "
                "64 bits, integers and bool",
                what_, utf8::quoted(text));
        };
        if (text.size() < 3) unsupported();
        ElementType type{text[1], 0, text[0] == '>'};
        const auto [end, flaw] =
            std::from_chars(text.data() + 2, text.data() + text.size(), type.bytes);
        const std::string_view kinds = type.bytes == 1                      ? "iub"
                                       : type.bytes == 2                    ? "iuf"
                                       : type.bytes == 4 || type.bytes == 8 ? "iuf"
                                                                            : "";
        if (flaw != std::errc() || end != text.data() + text.size() ||
            std::string_view("<>|=").find(text[0]) == std::string_view::npos ||
            kinds.find(type.kind) == std::string_view::npos) {
            unsupported();
        }
        return type;
    }

    const std::string& what_;
    std::string_view text_;
    std::size_t at_ = 0;
};

// Element i of `bytes`, in this machine's order.
template <class From>
From element_at(const std::byte* bytes, std::int64_t i, bool swapped) {
    std::array<std::byte, sizeof(From)> one{};
    std::memcpy(one.data(), bytes + static_cast<std::size_t>(i) * sizeof(From), sizeof(From));
    if (swapped) std::reverse(one.begin(), one.end());
    From x{};
    std::memcpy(&x, one.data(), sizeof(From));
    return x;
}

template <class From, class To>
void convert(const std::string& what, const std::byte* bytes, bool swapped, To* to,
             std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        const From x = element_at<From>(bytes, i, swapped);
        if constexpr (std::is_same_v<To, bool>) {
            if (x > 1) fail<IoError>("{}: a bool is byte {}, neither 0 nor 1", what, x);
            to[i] = x == 1;
        } else if constexpr (std::is_same_v<From, std::uint64_t>) {
            if (x > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
                fail<IoError>("{}: {} is too large for i64", what, x);
            }
            to[i] = static_cast<std::int64_t>(x);
        } else if constexpr (sizeof(To) == 2) {
            std::memcpy(to + i, &x, 2);  // the same bits
        } else {
            to[i] = static_cast<To>(x);
        }
    }
}

void convert_block(const std::string& what, const std::byte* bytes, const ElementType& type,
                   Tensor& to, std::int64_t first, std::int64_t n) {
    const auto as = [&]<class From, class To>(From /*type*/, To /*type*/) {
        convert<From>(what, bytes, type.swapped, to.mutable_data<To>() + first, n);
    };
    const int code = type.kind * 16 + type.bytes;
    switch (code) {
        case 'f' * 16 + 2: return as(std::uint16_t{}, F16());
        case 'f' * 16 + 4: return as(float{}, float{});
        case 'f' * 16 + 8: return as(double{}, double{});
        case 'i' * 16 + 1: return as(std::int8_t{}, std::int64_t{});
        case 'i' * 16 + 2: return as(std::int16_t{}, std::int64_t{});
        case 'i' * 16 + 4: return as(std::int32_t{}, std::int64_t{});
        case 'i' * 16 + 8: return as(std::int64_t{}, std::int64_t{});
        case 'u' * 16 + 1: return as(std::uint8_t{}, std::int64_t{});
        case 'u' * 16 + 2: return as(std::uint16_t{}, std::int64_t{});
        case 'u' * 16 + 4: return as(std::uint32_t{}, std::int64_t{});
        case 'u' * 16 + 8: return as(std::uint64_t{}, std::int64_t{});
        default: return as(std::uint8_t{}, bool{});
    }
}

}  // namespace

DType ElementType::dtype() const {
    if (kind == 'b') return DType::boolean;
    if (kind != 'f') return DType::i64;
    return bytes == 2 ? DType::f16 : (bytes == 4 ? DType::f32 : DType::f64);
}

std::uint64_t Header::data_bytes() const {
    return static_cast<std::uint64_t>(numel(shape)) * static_cast<std::uint64_t>(type.bytes);
}

Header read_header(const std::string& what, const Take& take, std::uint64_t available) {
    std::array<unsigned char, 12> start{};
    const auto take_to = [&](std::size_t from, std::size_t count) {
        take(std::as_writable_bytes(std::span(start).subspan(from, count)));
    };
    constexpr std::uint64_t kLeast = 10;
    require<IoError>(available >= kLeast, "{}: {} bytes; a .npy file has at least {}", what,
                     available, kLeast);
    take_to(0, kLeast);
    const std::string_view magic(reinterpret_cast<const char*>(start.data()), kMagic.size());
    require<IoError>(magic == kMagic, "{}: not a .npy file", what);
    require<IoError>(start[6] >= 1 && start[6] <= 3 && start[7] == 0,
                     "{}: version {}.{} of the .npy format is unknown", what, start[6], start[7]);
    std::uint64_t length = start[8] + (std::uint64_t{start[9]} << 8);
    std::uint64_t used = kLeast;
    if (start[6] >= 2) {
        require<IoError>(available >= 12, "{}: {} bytes; its header is longer", what, available);
        take_to(10, 2);
        length += (std::uint64_t{start[10]} << 16) + (std::uint64_t{start[11]} << 24);
        used = 12;
    }
    require<IoError>(length <= kMaxText && length <= available - used,
                     "{}: a header of {} bytes in a file of {}", what, length, available);
    std::string text(static_cast<std::size_t>(length), '\0');
    take(std::as_writable_bytes(std::span(text)));
    const Header header = DictParser(what, text).parse();
    std::int64_t elements = 1;  // an axis of size 0 counts as 1, as in numel()
    bool fits = true;
    for (const std::int64_t size : header.shape) {
        fits =
            fits && !__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements);
    }
    fits = fits && elements <= std::numeric_limits<std::int64_t>::max() / 8;
    require<IoError>(fits, "{}: the shape {} has too many elements", what, header.shape);
    const std::uint64_t rest = available - used - length;
    require<IoError>(header.data_bytes() == rest, "{}: {} of {} bytes each need {} bytes, found {}",
                     what, header.shape, header.type.bytes, header.data_bytes(), rest);
    return header;
}

std::string header_text(const Tensor& x) {
    const char* descr = "";
    switch (x.dtype()) {
        case DType::f32: descr = "<f4"; break;
        case DType::f64: descr = "<f8"; break;
        case DType::f16: descr = "<f2"; break;
        case DType::i64: descr = "<i8"; break;
        case DType::boolean: descr = "|b1"; break;
        default: fail<DTypeError>("npy: NumPy has no {}; convert with to()", x.dtype());
    }
    std::string sizes;
    for (const std::int64_t size : x.shape()) sizes += fmt::format("{}, ", size);
    if (x.rank() > 1) sizes.resize(sizes.size() - 2);
    if (x.rank() == 1) sizes.resize(sizes.size() - 1);  // "(3,)"
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
    constexpr std::size_t kBefore = 10, kAlignment = 64;
    text.append(kAlignment - (kBefore + text.size()) % kAlignment - 1, ' ');
    text += '\n';
    std::string header(kMagic);
    header +=
        {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    return header + text;
}

void read_elements(const std::string& what, const Take& take, const ElementType& type, Tensor& to,
                   std::int64_t first, std::int64_t n) {
    constexpr std::int64_t kBlock = 1 << 16;
    std::vector<std::byte> block;
    for (std::int64_t at = 0; at < n; at += kBlock) {
        const std::int64_t count = std::min(kBlock, n - at);
        block.resize(static_cast<std::size_t>(count * type.bytes));
        take(block);
        convert_block(what, block.data(), type, to, first + at, count);
    }
}

Tensor read_array(const std::string& what, const Take& take, std::uint64_t available) {
    const Header header = read_header(what, take, available);
    Shape stored = header.shape;
    std::vector<int> order;
    for (int axis = 0; axis < stored.rank(); ++axis) {
        const int other = stored.rank() - 1 - axis;
        order.push_back(other);
        if (header.fortran) stored[axis] = header.shape[other];
    }
    Tensor x(stored, header.type.dtype());
    read_elements(what, take, header.type, x, 0, x.numel());
    return header.fortran ? dense(views::permute(x, order)) : x;
}

}  // namespace tapestry::npy
