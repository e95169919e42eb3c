#include <tapestry/core/huge_pages.h>

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#endif

namespace tapestry::detail {

#if defined(__linux__) && defined(MADV_HUGEPAGE)
void ask_for_huge_pages(std::byte* block, std::size_t bytes) noexcept {
    constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
    constexpr std::size_t kLeast = 2 * kPage;  // smaller blocks seldom have room for a whole one
    if (block == nullptr || bytes < kLeast) return;
    const auto from = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t first = (from + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (from + bytes) / kPage * kPage;
    if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}
#else
void ask_for_huge_pages(std::byte*, std::size_t) noexcept {}
#endif

}  // namespace tapestry::detail
