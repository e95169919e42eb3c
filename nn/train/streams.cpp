#include <tapestry/nn/train/streams.h>

namespace tapestry {

Generator stream(std::uint64_t seed, Stream name) {
    return Generator(seed * 4 + static_cast<std::uint64_t>(name));
}

}  // namespace tapestry
