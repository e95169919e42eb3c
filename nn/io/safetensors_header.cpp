// Two passes. The parser (a JsonHandler: it builds no tree, and sees duplicate keys and numbers as
// written) accepts only the format's structure. The layout pass checks sizes and offsets, with an
// overflow check on every product and sum of numbers from the file.
#include <tapestry/nn/io/safetensors_header.h>

#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

namespace tapestry::safetensors {
namespace {

struct FileType {
    std::string_view name;
    unsigned bits;
    std::optional<DType> dtype = {};  // empty: not supported by Tapestry
};

// The format's other types, as of safetensors 0.8.
constexpr FileType kUnsupported[] = {
    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"U8", 8},      {"I8", 8},      {"U16", 16},        {"I16", 16},
    {"U32", 32},    {"I32", 32},    {"U64", 64},        {"C64", 64}};

std::optional<FileType> find_type(std::string_view name) {
    for (const DTypeRow& row : kDTypes) {
        const auto bits = static_cast<unsigned>(8 * row.size);
        if (row.safetensors == name)
            return FileType{row.safetensors, bits, static_cast<DType>(&row - kDTypes)};
    }
    for (const FileType& type : kUnsupported) {
        if (type.name == name) return type;
    }
    return std::nullopt;
}

/// An entry as stated in the JSON.
struct RawEntry {
    std::string name;
    std::optional<std::string> dtype;
    std::optional<std::vector<std::uint64_t>> shape;
    std::optional<std::vector<std::uint64_t>> offsets;
};

// The parser's position. Anything unexpected at a position is an error, so nesting cannot exceed
// the three levels of the format.
class Parser final : public JsonHandler {
public:
    explicit Parser(std::string_view what) : what_(what) {}

    std::vector<RawEntry> entries;
    std::map<std::string, std::string> metadata;

    void null() override {
        if (place_ == Place::top && key_ == kMetadata) return;  // as the reference accepts it
        unexpected("null");
    }
    void boolean(bool value) override { unexpected(value ? "true" : "false"); }
    void negative_number(std::int64_t value) override {
        unexpected(value == 0 ? "-0" : fmt::format("{}", value));
    }
    void real_number(const std::string& text) override {
        unexpected(text.size() <= 40 ? text : text.substr(0, 40) + "...");
    }

    void number(std::uint64_t value) override {
        if (place_ != Place::list) unexpected(fmt::format("{}", value));
        if (key_ == "shape") {
            if (list_.size() == static_cast<std::size_t>(Shape::kMaxRank)) {
                wrong(fmt::format("more than {} axes", Shape::kMaxRank));
            }
        } else if (list_.size() == 2) {
            wrong("data_offsets holds more than two numbers");
        }
        list_.push_back(value);
    }

    void string(const std::string& value) override {
        if (place_ == Place::metadata) {
            metadata[key_] = value;
        } else if (place_ == Place::entry && key_ == "dtype") {
            entries.back().dtype = value;
        } else {
            unexpected(utf8::quoted(value));
        }
    }

    void begin_object() override {
        switch (place_) {
            case Place::start: place_ = Place::top; break;
            case Place::top:
                if (key_ == kMetadata) {
                    place_ = Place::metadata;
                } else {
                    entries.push_back({key_, {}, {}, {}});
                    place_ = Place::entry;
                }
                break;
            default: unexpected("an object");
        }
    }

    void name(const std::string& name) override {
        key_ = name;
        if (place_ == Place::top) {
            if (const std::string flaw = flaw_of_name(name); !flaw.empty()) {
                fail<IoError>("{}: a tensor's name {} {}", what_, utf8::quoted(name), flaw);
            }
            if (!names_.insert(name).second) {
                fail<IoError>("{}: the name {} appears twice", what_, utf8::quoted(name));
            }
        } else if (place_ == Place::metadata) {
            if (metadata.count(name) != 0) {
                fail<IoError>("{}: duplicate key {} in __metadata__", what_, utf8::quoted(name));
            }
        } else {
            check_entry_key();
        }
    }

    void end_object() override {
        if (place_ == Place::entry) check_entry();
        place_ = place_ == Place::top ? Place::start : Place::top;
    }

    void begin_array() override {
        if (place_ != Place::entry || key_ == "dtype") unexpected("a list");
        list_.clear();
        place_ = Place::list;
    }

    void end_array() override {
        (key_ == "shape" ? entries.back().shape : entries.back().offsets) = list_;
        place_ = Place::entry;
    }

private:
    enum class Place { start, top, metadata, entry, list };

    [[noreturn]] void wrong(const std::string& rule) {
        fail<IoError>("{}: tensor {}: {}", what_, utf8::quoted(entries.back().name), rule);
    }

    [[noreturn]] void unexpected(const std::string& found) {
        switch (place_) {
            case Place::start: fail<IoError>("{}: the header is {}, not an object", what_, found);
            case Place::top:
                fail<IoError>("{}: {} is {}, not an object", what_, utf8::quoted(key_), found);
            case Place::metadata:
                fail<IoError>("{}: {} in __metadata__ is {}, not a string", what_,
                              utf8::quoted(key_), found);
            case Place::entry:
                wrong(fmt::format("{} is {}, not a {}", key_, found,
                                  key_ == "dtype" ? "string" : "list of whole numbers"));
            case Place::list: break;
        }
        wrong(fmt::format("{} holds {}, not a whole number of at most 64 bits", key_, found));
    }

    void check_entry_key() {
        const RawEntry& entry = entries.back();
        const bool twice = (key_ == "dtype" && entry.dtype) || (key_ == "shape" && entry.shape) ||
                           (key_ == "data_offsets" && entry.offsets);
        if (twice) wrong(fmt::format("{} appears twice", key_));
        if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
            wrong(fmt::format("unknown key {} (only dtype, shape, data_offsets)",
                              utf8::quoted(key_)));
        }
    }

    void check_entry() {
        const RawEntry& entry = entries.back();
        if (!entry.dtype) wrong("no dtype");
        if (!entry.shape) wrong("no shape");
        if (!entry.offsets) wrong("no data_offsets");
        if (entry.offsets->size() != 2) {
            wrong(fmt::format("data_offsets holds {} numbers, not two", entry.offsets->size()));
        }
    }

    std::string_view what_;
    Place place_ = Place::start;
    std::string key_;
    std::vector<std::uint64_t> list_;
    std::set<std::string> names_;
};

void check_text(std::string_view what, std::string_view text) {
    if (utf8::mark_bytes(text) > 0) {  // the JSON parser would skip it
        fail<IoError>("{}: the header begins with a byte order mark", what);
    }
    if (const auto zero = text.find('\0'); zero != text.npos) {  // the parser would stop there
        fail<IoError>("{}: byte {} of the header is 0", what, zero);
    }
    if (const auto flaw = utf8::find_flaw(text)) {
        fail<IoError>("{}: the header is not UTF-8, byte {}: {}", what, flaw->byte, flaw->what);
    }
}

/// Size of the elements in bits; empty on overflow. Axes of size 0 count as 1 in the overflow
/// check, which then also covers strides.
std::optional<std::uint64_t> bits_of(const std::vector<std::uint64_t>& shape, unsigned bits) {
    std::uint64_t product = bits;
    bool empty = false;
    for (const std::uint64_t size : shape) {
        empty = empty || size == 0;
        if (__builtin_mul_overflow(product, std::max<std::uint64_t>(size, 1), &product)) return {};
    }
    // All sizes and offsets derived from it must fit into signed integers.
    if (product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
    return empty ? 0 : product;
}

Entry check_sizes(std::string_view what, const RawEntry& raw, const Filter& wanted) {
    const std::string name = utf8::quoted(raw.name);
    const std::optional<FileType> type = find_type(*raw.dtype);
    if (!type) {
        fail<IoError>("{}: tensor {}: unknown dtype {}", what, name, utf8::quoted(*raw.dtype));
    }
    const auto shape = fmt::format("[{}]", fmt::join(*raw.shape, ", "));
    const auto bits = bits_of(*raw.shape, type->bits);
    if (!bits) {
        fail<IoError>("{}: tensor {}: shape {} of {} has more bits than can be counted", what, name,
                      shape, type->name);
    }
    if (*bits % 8 != 0) {
        fail<IoError>("{}: tensor {}: shape {} of {} ends inside a byte", what, name, shape,
                      type->name);
    }
    const std::uint64_t begin = (*raw.offsets)[0];
    const std::uint64_t end = (*raw.offsets)[1];
    if (end < begin) {
        fail<IoError>("{}: tensor {}: data_offsets [{}, {}] end before they begin", what, name,
                      begin, end);
    }
    if (end - begin != *bits / 8) {
        fail<IoError>(
            "{}: tensor {}: data_offsets [{}, {}] are {} bytes, but shape {} of {} has {}", what,
            name, begin, end, end - begin, shape, type->name, *bits / 8);
    }
    if (wanted && !wanted(raw.name)) {
        return {raw.name, {}, DType::f32, begin, end, false};
    }
    if (!type->dtype) {
        std::vector<std::string_view> supported;
        for (const DTypeRow& row : kDTypes) supported.push_back(row.safetensors);
        fail<IoError>("{}: tensor {}: dtype {} is not supported ({})", what, name, type->name,
                      fmt::join(supported, ", "));
    }
    Shape sizes;
    for (const std::uint64_t size : *raw.shape) sizes.push_back(static_cast<std::int64_t>(size));
    return {raw.name, sizes, *type->dtype, begin, end, true};
}

void check_layout(std::string_view what, const std::vector<Entry>& entries,
                  std::uint64_t data_bytes) {
    std::uint64_t previous = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != previous) {
            fail<IoError>(
                "{}: tensor {} begins at byte {} of the data, but the one before ends at "
                "{} ({})",
                what, utf8::quoted(entry.name), entry.begin, previous,
                entry.begin < previous ? "they overlap" : "a hole");
        }
        previous = entry.end;
    }
    if (previous > data_bytes) {
        fail<IoError>("{}: truncated: the tensors take {} bytes, the file has {} for them", what,
                      previous, data_bytes);
    }
    if (previous < data_bytes) {
        fail<IoError>("{}: {} trailing bytes: the tensors take {}, the file has {} for them", what,
                      data_bytes - previous, previous, data_bytes);
    }
}

}  // namespace

std::string flaw_of_name(std::string_view name) {
    if (const auto flaw = utf8::find_flaw(name)) {
        return fmt::format("is not UTF-8, byte {}: {}", flaw->byte, flaw->what);
    }
    if (name.find('\0') != name.npos) return "holds a NUL";
    if (name.find(utf8::kByteOrderMark) != name.npos) return "holds a byte order mark";
    return "";
}

Header parse_header(std::string_view what, std::string_view text, std::uint64_t data_bytes,
                    const Filter& wanted) {
    check_text(what, text);
    Parser parser(what);
    try {
        handle_json(text, parser);
    } catch (const JsonSyntaxError& error) {
        fail<IoError>("{}: the header is not JSON, byte {}: {}", what, error.byte,
                      utf8::quoted(error.rule, 200));
    }
    Header header;
    header.metadata = std::move(parser.metadata);
    header.entries.reserve(parser.entries.size());
    for (const RawEntry& raw : parser.entries) {
        header.entries.push_back(check_sizes(what, raw, wanted));
    }
    // Empty tensors may begin where another does: they sort first, by their end.
    std::stable_sort(header.entries.begin(), header.entries.end(),
                     [](const Entry& a, const Entry& b) {
                         return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                     });
    check_layout(what, header.entries, data_bytes);
    return header;
}

std::string format_header(const Header& header) {
    std::string text = "{";
    const auto separate = [&text] { text += text.size() == 1 ? "" : ","; };
    if (!header.metadata.empty()) {
        std::string metadata;
        for (const auto& [key, value] : header.metadata) {
            metadata += fmt::format("{}{}:{}", metadata.empty() ? "" : ",", json_text(key),
                                    json_text(value));
        }
        text += fmt::format("\"{}\":{{{}}}", kMetadata, metadata);
    }
    for (const Entry& entry : header.entries) {
        separate();
        text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                            json_text(entry.name), row_of(entry.dtype).safetensors,
                            fmt::join(entry.shape, ","), entry.begin, entry.end);
    }
    text += "}";
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
}

}  // namespace tapestry::safetensors
