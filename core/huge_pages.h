// Pages of 2 MB for large blocks, as NumPy requests them. The first write to each page is a fault
// of about a microsecond, and pages of 4 KB have many: the first steps of a model with 135 million
// parameters take 1.8 million faults. Internal to core.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tapestry::detail {

/// Requests large pages for the part of the block that whole pages fit into. A system without large
/// pages ignores the request. Pages that are never written still take no memory.
inline void ask_for_huge_pages([[maybe_unused]] std::byte* block,
                               [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
    constexpr std::size_t kLeast = 2 * kPage;  // smaller blocks rarely have room for a whole one
    if (block == nullptr || bytes < kLeast) return;
    const auto from = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t first = (from + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (from + bytes) / kPage * kPage;
    if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

/// Returns to the system the whole pages in a block whose contents are no longer needed; they take
/// memory again when they are written. Only for large blocks, and only on Linux.
inline void return_pages([[maybe_unused]] std::byte* block,
                         [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    constexpr std::uintptr_t kPage = std::uintptr_t{1} << 16;  // the largest that systems have
    constexpr std::size_t kLeast = std::size_t{1} << 20;
    if (bytes < kLeast) return;
    const auto from = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t first = (from + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (from + bytes) / kPage * kPage;
    ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#endif
}

}  // namespace tapestry::detail
