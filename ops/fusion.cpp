#include <tapestry/ops/fusion.h>

#include <tapestry/core/error.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace tapestry {
namespace {

bool initially_enabled() {
    const char* text = std::getenv("TAPESTRY_FUSE");
    if (text == nullptr) return true;
    const std::string_view value = text;
    require(value == "0" || value == "1", "TAPESTRY_FUSE={}: must be 0 or 1", value);
    return value == "1";
}

std::atomic<bool>& enabled() {
    static std::atomic<bool> value{initially_enabled()};
    return value;
}

}  // namespace

bool fusion_enabled() { return enabled().load(std::memory_order_relaxed); }

void set_fusion(bool on) { enabled().store(on, std::memory_order_relaxed); }

}  // namespace tapestry
