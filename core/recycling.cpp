#include <tapestry/core/recycling.h>

#include <tapestry/core/thread_exit.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>

namespace tapestry::detail {
namespace {

// Sizes are powers of two from 32 bytes to a megabyte; larger blocks come from the system.
constexpr std::size_t kSizes = 16;
constexpr std::size_t kMostKept = std::size_t{8} << 20;  // bytes, per thread

constexpr std::size_t size_number(std::size_t bytes) {
    return static_cast<std::size_t>(std::bit_width((std::max<std::size_t>(bytes, 1) - 1) >> 5));
}

constexpr std::size_t bytes_of(std::size_t number) { return std::size_t{32} << number; }

static_assert(size_number(0) == 0 && size_number(32) == 0 && size_number(33) == 1);
static_assert(size_number(bytes_of(kSizes - 1)) == kSizes - 1);

struct Block {
    Block* next;
};

struct Kept {
    std::array<Block*, kSizes> first{};
    std::size_t bytes = 0;
    bool is_watched = false;  // everything here is freed when the thread ends
};

constinit thread_local Kept kept;

void give_all_back(void*) {
    for (Block*& first : kept.first) {
        while (first != nullptr) ::operator delete(std::exchange(first, first->next));
    }
    kept.bytes = 0;
    kept.is_watched = false;
}

// Registers give_all_back. If there is no memory to do so, no block is kept.
bool watch() noexcept {
    try {
        at_thread_exit(give_all_back, nullptr);
        kept.is_watched = true;
    } catch (const std::bad_alloc&) {
    }
    return kept.is_watched;
}

}  // namespace

void* take_recycled(std::size_t bytes) {
    const std::size_t number = size_number(bytes);
    if (!kReusesBlocks || number >= kSizes) return ::operator new(bytes);
    Block* const block = kept.first[number];
    if (block == nullptr) return ::operator new(bytes_of(number));
    kept.first[number] = block->next;
    kept.bytes -= bytes_of(number);
    return block;
}

void give_recycled(void* block, std::size_t bytes) noexcept {
    const std::size_t number = size_number(bytes);
    const bool keeps = kReusesBlocks && number < kSizes &&
                       kept.bytes + bytes_of(number) <= kMostKept && (kept.is_watched || watch());
    if (!keeps) return ::operator delete(block);
    kept.first[number] = new (block) Block{kept.first[number]};
    kept.bytes += bytes_of(number);
}

}  // namespace tapestry::detail
