// Pages of 2 MB for large blocks, as NumPy requests them. The first write to each page is a fault
// of about a microsecond, and pages of 4 KB have many: the first steps of a model with 135 million
// parameters take 1.8 million faults. Internal to core.
#pragma once

#include <cstddef>

namespace tapestry::detail {

/// Requests large pages for the part of the block that whole pages fit into. A system without large
/// pages ignores the request. Pages that are never written still take no memory.
void ask_for_huge_pages(std::byte* block, std::size_t bytes) noexcept;

}  // namespace tapestry::detail
