// Packing and unpacking, the two kinds of storage, and ids as text.
#include <tapestry/nn/data/token_ids.h>

#include <tapestry/core/system_call.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace tapestry {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are kept as the processor has them");

// Calls f with a zero of the type.
template <class F>
auto visit_type(IdType type, F&& f) {
    switch (type) {
        case IdType::u8: return f(std::uint8_t{});
        case IdType::u16: return f(std::uint16_t{});
        case IdType::u32: return f(std::uint32_t{});
        case IdType::i64: break;
    }
    return f(std::int64_t{});
}

void unpack(std::span<const std::byte> bytes, IdType type, std::int64_t* to) {
    visit_type(type, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
            T id;
            std::memcpy(&id, bytes.data() + at, sizeof(T));
            *to++ = static_cast<std::int64_t>(id);
        }
    });
}

// Handles any ids, not only a tokenizer's.
IdType type_of(std::span<const std::int64_t> ids) {
    if (ids.empty()) return IdType::u8;
    const auto [least, most] = std::minmax_element(ids.begin(), ids.end());
    if (*least < 0 || *most > std::numeric_limits<std::uint32_t>::max()) return IdType::i64;
    return id_type_for(*most + 1);
}

std::vector<std::byte> packed(std::span<const std::int64_t> ids, IdType type) {
    std::vector<std::byte> bytes;
    pack_ids(ids, type, bytes);
    return bytes;
}

}  // namespace

std::int64_t bytes_of(IdType type) {
    return visit_type(type, [](auto zero) { return static_cast<std::int64_t>(sizeof(zero)); });
}

IdType id_type_for(std::int64_t vocab) {
    if (vocab <= 1 << 8) return IdType::u8;
    return vocab <= 1 << 16 ? IdType::u16 : IdType::u32;
}

void pack_ids(std::span<const std::int64_t> ids, IdType type, std::vector<std::byte>& to) {
    visit_type(type, [&](auto zero) {
        using T = decltype(zero);
        std::size_t at = to.size();
        to.resize(at + ids.size() * sizeof(T));
        for (const std::int64_t id : ids) {
            const T kept = static_cast<T>(id);
            std::memcpy(to.data() + at, &kept, sizeof(T));
            at += sizeof(T);
        }
    });
}

// ---- where they are -----------------------------------------------------------------------------

class TokenIds::Kept {
public:
    Kept(IdType type, std::int64_t count) : type_(type), count_(count) {}
    virtual ~Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    IdType type() const { return type_; }
    std::int64_t count() const { return count_; }
    /// The ids must exist.
    virtual void read(std::int64_t begin, std::span<std::int64_t> to) const = 0;

private:
    IdType type_;
    std::int64_t count_;
};

class TokenIds::InMemory final : public Kept {
public:
    InMemory(std::vector<std::byte> bytes, IdType type)
        : Kept(type, static_cast<std::int64_t>(bytes.size()) / bytes_of(type)),
          bytes_(std::move(bytes)) {}

    void read(std::int64_t begin, std::span<std::int64_t> to) const override {
        const auto width = static_cast<std::size_t>(bytes_of(type()));
        const std::span<const std::byte> all(bytes_);
        unpack(all.subspan(static_cast<std::size_t>(begin) * width, to.size() * width), type(),
               to.data());
    }

private:
    std::vector<std::byte> bytes_;
};

namespace {

std::int64_t ids_in(const FileDescriptor& file, const std::string& name, IdType type) {
    const off_t bytes = ::lseek(file.number(), 0, SEEK_END);
    if (bytes < 0) fail_to("read", name, errno);
    require<IoError>(bytes % bytes_of(type) == 0, "{}: {} bytes are not a whole number of {} ids",
                     name, bytes, name_of_value(type));
    return bytes / bytes_of(type);
}

}  // namespace

class TokenIds::InFile final : public Kept {
public:
    InFile(std::shared_ptr<const FileDescriptor> file, std::string name, IdType type,
           std::int64_t vocab)
        : Kept(type, ids_in(*file, name, type)),
          file_(std::move(file)),
          name_(std::move(name)),
          vocab_(vocab) {}

    void read(std::int64_t begin, std::span<std::int64_t> to) const override {
        std::array<std::byte, 1 << 16> buffer;
        const auto width = static_cast<std::size_t>(bytes_of(type()));
        while (!to.empty()) {
            const std::size_t ids = std::min(to.size(), buffer.size() / width);
            const auto bytes = std::span(buffer).first(ids * width);
            fill(bytes, static_cast<off_t>(begin) * bytes_of(type()));
            unpack(bytes, type(), to.data());
            check(begin, to.first(ids));
            begin += static_cast<std::int64_t>(ids);
            to = to.subspan(ids);
        }
    }

private:
    void fill(std::span<std::byte> to, off_t at) const {
        while (!to.empty()) {
            const auto got =
                uninterrupted([&] { return ::pread(file_->number(), to.data(), to.size(), at); });
            if (got < 0) fail_to("read", name_, errno);
            require<IoError>(got > 0, "cannot read {}: it ends at byte {} (changed meanwhile?)",
                             name_, at);
            to = to.subspan(static_cast<std::size_t>(got));
            at += got;
        }
    }

    void check(std::int64_t begin, std::span<const std::int64_t> ids) const {
        const auto beyond =
            std::find_if(ids.begin(), ids.end(), [this](std::int64_t id) { return id >= vocab_; });
        if (beyond == ids.end()) return;
        fail<IoError>("{}: id {} at position {} is outside the vocabulary of {}", name_, *beyond,
                      begin + (beyond - ids.begin()), vocab_);
    }

    std::shared_ptr<const FileDescriptor> file_;
    std::string name_;
    std::int64_t vocab_;
};

// ---- the sequence -------------------------------------------------------------------------------

TokenIds::TokenIds(std::span<const std::int64_t> ids)
    : TokenIds(packed(ids, type_of(ids)), type_of(ids)) {}

TokenIds::TokenIds(std::vector<std::byte> packed, IdType type)
    : kept_(std::make_shared<InMemory>(std::move(packed), type)), size_(kept_->count()) {}

TokenIds::TokenIds(std::shared_ptr<const FileDescriptor> file, std::string name, IdType type,
                   std::int64_t vocab)
    : kept_(std::make_shared<InFile>(std::move(file), std::move(name), type, vocab)),
      size_(kept_->count()) {}

IdType TokenIds::type() const { return kept_->type(); }

void TokenIds::read(std::int64_t begin, std::span<std::int64_t> to) const {
    const auto count = static_cast<std::int64_t>(to.size());
    require<IndexError>(begin >= 0 && begin <= size_ && count <= size_ - begin,
                        "token ids: {} from {} on; there are {}", count, begin, size_);
    if (count > 0) kept_->read(first_ + begin, to);
}

std::vector<std::int64_t> TokenIds::read(std::int64_t begin, std::int64_t count) const {
    require<IndexError>(count >= 0 && count <= size_, "token ids: {} from {} on; there are {}",
                        count, begin, size_);
    std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
    read(begin, ids);
    return ids;
}

TokenIds TokenIds::slice(std::int64_t begin, std::int64_t count) const {
    require<IndexError>(begin >= 0 && begin <= size_ && count >= 0 && count <= size_ - begin,
                        "token ids: {} from {} on; there are {}", count, begin, size_);
    TokenIds part = *this;
    part.first_ += begin;
    part.size_ = count;
    return part;
}

// ---- ids as text --------------------------------------------------------------------------------

namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

}  // namespace

std::vector<std::int64_t> read_token_file(const std::string& path, std::int64_t vocab) {
    const std::string text = read_file(path);
    const std::string file = shown(path);
    std::vector<std::int64_t> ids;
    for (std::string_view rest = text;;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(kWhiteSpace), rest.size()));
        if (rest.empty()) break;
        const std::string_view word = rest.substr(0, rest.find_first_of(kWhiteSpace));
        rest.remove_prefix(word.size());
        std::int64_t id = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, id);
        require<IoError>(error != std::errc::invalid_argument && stop == end,
                         "{}: {} at position {} is not a token id", file, utf8::quoted(word, 40),
                         ids.size());
        require<IoError>(error == std::errc{} && id >= 0 && id < vocab,
                         "{}: token {} at position {} is outside the vocabulary of {}", file,
                         word.substr(0, 40), ids.size(), vocab);
        ids.push_back(id);
    }
    require<IoError>(ids.size() >= 2, "{}: needs at least 2 tokens, got {}", file, ids.size());
    return ids;
}

}  // namespace tapestry
