#include <tapestry/core/checksum.h>

#include <tapestry/core/file.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace tapestry {

struct Checksum::State {
    XXH3_state_t xxh;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string Checksum::hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string checksum_of(std::string_view text) {
    Checksum checksum;
    checksum.add(text);
    return checksum.hex();
}

FileDigest digest_of_file(const std::filesystem::path& path, std::uint64_t most) {
    return digest_of(InputFile(path), most);
}

FileDigest digest_of(InputFile&& file, std::uint64_t most) {
    constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 18;
    const std::uint64_t bytes = std::min(most, file.size());
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, kAtOnce)));
    Checksum checksum;
    for (std::uint64_t left = bytes; left > 0;) {
        const std::span part(buffer.data(), static_cast<std::size_t>(std::min(left, kAtOnce)));
        file.read(part);
        checksum.add(part);
        left -= part.size();
    }
    return {bytes, checksum.hex()};
}

}  // namespace tapestry
