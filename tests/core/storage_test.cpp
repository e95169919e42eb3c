// The caching allocator: alignment, reuse, statistics, and impossible requests.
#include <tapestry/core/storage.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#if defined(__linux__)
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#endif

using namespace tapestry;
using tapestry::test::check_throws;
using tapestry::test::kAddressSanitizer;

TEST_CASE("storage: 64-byte aligned at any size") {
    for (const std::size_t bytes :
         std::vector<std::size_t>{0, 1, 63, 64, 65, 511, 513, 1000, 4097, 100000, 1 << 21}) {
        const Storage a(bytes);
        const Storage b(bytes);
        CHECK(a.bytes() == bytes);
        CHECK(a.data() != b.data());
        CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
    }
}

TEST_CASE("storage: size classes hold what was asked for and waste an eighth at most") {
    std::size_t checked = 0;
    for (std::size_t bytes = 1; bytes < 10'000'000; bytes += 1 + bytes / 7) {
        const std::size_t before = memory_statistics().current;
        const Storage storage(bytes);
        const std::size_t got = memory_statistics().current - before;
        CHECK(got >= bytes);
        CHECK(got <= (bytes + 63) + bytes / 8);
        std::fill_n(storage.data(), bytes, std::byte{1});  // a sanitizer detects overruns
        ++checked;
    }
    CHECK(checked > 50);
}

TEST_CASE("storage: a freed block is handed out again") {
    if (kAddressSanitizer) return;
    constexpr std::size_t kBytes = 123456;
    const std::byte* first = Storage(kBytes).data();
    const auto before = memory_statistics();
    for (int i = 0; i < 10; ++i) {
        const Storage again(kBytes - static_cast<std::size_t>(i));  // same class
        CHECK(again.data() == first);
    }
    const auto after = memory_statistics();
    CHECK(after.system == before.system);
    CHECK(after.cached == before.cached);
    CHECK(after.current == before.current);
}

TEST_CASE("storage: current, peak and cached") {
    release_cached_memory();
    CHECK(memory_statistics().cached == 0);
    reset_peak_memory();
    const auto start = memory_statistics();
    CHECK(start.peak == start.current);
    {
        const Storage a(1 << 20);
        CHECK(memory_statistics().current == start.current + (1 << 20));
        { const Storage b(1 << 21); }
        CHECK(memory_statistics().current == start.current + (1 << 20));
        CHECK(memory_statistics().peak == start.current + (1 << 20) + (1 << 21));
        CHECK(memory_statistics().cached == (kAddressSanitizer ? 0 : 1 << 21));
    }
    CHECK(memory_statistics().current == start.current);
    CHECK(memory_statistics().system == start.system + 2);
    reset_peak_memory();
    CHECK(memory_statistics().peak == start.current);
    release_cached_memory();
    CHECK(memory_statistics().cached == 0);
    const Storage a(1 << 20);
    CHECK(memory_statistics().system == start.system + 3);
}

TEST_CASE("storage: absurd requests") {
    const auto before = memory_statistics();
    check_throws<MemoryError>(
        [] { Storage(UINT64_MAX); },
        "memory: cannot allocate 18446744073709551615 bytes, more than any system has");
    check_throws<MemoryError>(
        [] { empty({std::int64_t{1} << 61}, DType::f64); },
        "tensor: [2305843009213693952] of f64 needs too many bytes to count in 64 bits");
    check_throws<MemoryError>(
        [] { empty({(std::int64_t{1} << 61) - 1}, DType::f64); },
        "memory: cannot allocate 18446744073709551608 bytes, more than any system has");
    if (!kAddressSanitizer) {
        CHECK_THROWS_AS(empty({std::int64_t{1} << 58}, DType::boolean), MemoryError);
    }
    CHECK(memory_statistics().current == before.current);
}

TEST_CASE("storage: empty tensors have separate memory") {
    const Tensor x = empty({0, 3});
    CHECK(x.defined());
    CHECK(x.numel() == 0);
    CHECK(x.bytes() == 0);
    CHECK(x.data<float>() != nullptr);
    CHECK(x.to_vector<float>().empty());
}

TEST_CASE("storage: blocks that are no longer requested do not pile up") {
    if (kAddressSanitizer) return;
    release_cached_memory();
    const std::size_t largest = std::size_t{80} << 20;
    std::size_t most = 0;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t bytes = largest / 200; bytes <= largest; bytes += largest / 200) {
            const Storage storage(bytes);  // never touched: uses only address space
            most = std::max(most, memory_statistics().cached);
        }
    }
    CHECK(most > largest);       // it is cached,
    CHECK(most <= 4 * largest);  // but not all of it: 950 MB
    release_cached_memory();
}

#if defined(__linux__)
namespace {

// Whether the system was asked for large pages in the mapping that holds this address.
bool asks_for_huge_pages(const std::byte* address) {
    std::ifstream file("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool is_here = false;
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
            is_here = begin <= wanted && wanted < end;
        } else if (is_here && line.starts_with("VmFlags:")) {
            return line.find(" hg") != std::string::npos;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("storage: large blocks ask for large pages, where the system has them") {
    if (kAddressSanitizer) return test::skip("AddressSanitizer allocates");
    const std::size_t bytes = std::size_t{8} << 20;
    void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_NE(own, MAP_FAILED);
    ::madvise(own, bytes, MADV_HUGEPAGE);
    const bool are_shown = asks_for_huge_pages(static_cast<const std::byte*>(own) + bytes / 2);
    ::munmap(own, bytes);
    if (!are_shown) return test::skip("smaps does not show large pages here");
    const Storage large(std::size_t{16} << 20), small(std::size_t{1} << 20);
    CHECK(asks_for_huge_pages(large.data() + (std::size_t{8} << 20)));
    CHECK_FALSE(asks_for_huge_pages(small.data() + (std::size_t{1} << 19)));
}
#endif
