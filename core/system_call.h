// Return codes of system calls. Internal to Tapestry.
#pragma once

#include <tapestry/core/file.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace tapestry {

/// Repeats `call` as long as a signal interrupts it.
template <class F>
auto uninterrupted(F&& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// "cannot write 'model.safetensors': No space left on device". Takes errno by value so that
/// building the rest of the message cannot overwrite it.
[[noreturn]] inline void fail_to(std::string_view verb, const std::string& target, int error) {
    const std::string reason = std::generic_category().message(error);
    if (error == ENOSPC || error == EDQUOT) {
        fail<DiskFullError>("cannot {} {}: {}", verb, target, reason);
    }
    fail<IoError>("cannot {} {}: {}", verb, target, reason);
}

}  // namespace tapestry
