#include <tapestry/core/recycling.h>
#include <tapestry/tests/core/support.h>

#include <doctest/doctest.h>
#include <malloc.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

using namespace tapestry;

namespace {

using detail::give_recycled;
using detail::take_recycled;

// Bytes that malloc has allocated and not freed, in all its arenas.
std::size_t bytes_of_malloc() { return mallinfo2().uordblks; }

// Allocates `count` blocks, writes to all of them, and frees them.
void use_blocks(std::size_t count, std::size_t bytes) {
    std::vector<void*> blocks(count);
    for (void*& block : blocks) std::memset(block = take_recycled(bytes), 1, bytes);
    for (void* block : blocks) give_recycled(block, bytes);
}

}  // namespace

TEST_CASE("recycling: a block that was let go is the next of its size") {
    if (test::kAddressSanitizer) return;
    void* const block = take_recycled(100);
    give_recycled(block, 100);
    void* const other = take_recycled(1000);
    CHECK_NE(other, block);
    CHECK_EQ(take_recycled(128), block);  // sizes are powers of two
    give_recycled(block, 128);
    give_recycled(other, 1000);
}

TEST_CASE("recycling: blocks of any size are the caller's alone, and aligned") {
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t bytes = 0; bytes < (std::size_t{3} << 20); bytes = 2 * bytes + 1) {
            auto* const block = static_cast<unsigned char*>(take_recycled(bytes));
            CHECK_EQ(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t), 0);
            std::memset(block, static_cast<int>(blocks.size()), bytes);
            blocks.emplace_back(block, bytes);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const auto [block, bytes] = blocks[i];
            for (std::size_t k = 0; k < bytes; k += 1 + bytes / 7) REQUIRE_EQ(block[k], i);
            give_recycled(block, bytes);
        }
        blocks.clear();
    }
}

TEST_CASE("recycling: blocks go from thread to thread, and a thread that ends keeps none") {
    if (test::kAddressSanitizer) return;
    constexpr std::size_t kCount = 60, kBytes = 32768;
    std::thread([] { use_blocks(1, 1); }).join();  // malloc's leftovers of a first thread
    const std::size_t before = bytes_of_malloc();
    std::vector<void*> made_there(kCount);
    std::thread([&] {
        use_blocks(kCount, kBytes);
        for (void*& block : made_there) block = take_recycled(kBytes);
    }).join();
    CHECK_GE(bytes_of_malloc(), before + kCount * kBytes);
    std::thread([&] {
        for (void* block : made_there) give_recycled(block, kBytes);
    }).join();
    CHECK_LT(bytes_of_malloc(), before + kBytes);
}

TEST_CASE("recycling: what a thread keeps has an upper limit") {
    if (test::kAddressSanitizer) return;
    std::thread([] {
        const std::size_t before = bytes_of_malloc();
        use_blocks(1000, 65536);
        const std::size_t kept = bytes_of_malloc() - before;
        CHECK_LE(kept, (std::size_t{8} << 20) + 100'000);
        CHECK_GE(kept, std::size_t{7} << 20);
    }).join();
}

TEST_CASE("recycling: containers and shared objects") {
    RecycledVector<int> numbers;
    for (int i = 0; i < 1000; ++i) numbers.push_back(i);
    const RecycledVector<int> copy = numbers;
    numbers = {1, 2};
    CHECK_EQ(copy.size(), 1000);
    CHECK_EQ(copy[999], 999);
    const auto text = make_recycled<RecycledString>("longer than a string has room for itself");
    CHECK_EQ(*text, "longer than a string has room for itself");
}
