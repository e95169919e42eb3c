#include <tapestry/core/storage.h>

#include <tapestry/core/at_fork.h>
#include <tapestry/core/error.h>
#include <tapestry/core/huge_pages.h>
#include <tapestry/core/recycling.h>
#include <tapestry/core/turn_memory.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tapestry {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and an AVX-512 register
constexpr std::uint64_t kMostBytes =    // a quarter of the address space: rounding up is safe
    std::numeric_limits<std::size_t>::max() / 4 + 1;
constexpr std::size_t kAlwaysKept = std::size_t{1} << 28;

// Blocks from this size on are mappings of their own where the system has such: the C library would
// keep them as pieces of its heap, and after some steps have holes that fit none.
constexpr std::size_t kMapped = std::size_t{1} << 18;

std::byte* map_block(std::size_t bytes) {
#if defined(__linux__)
    void* const block =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
#else
    return static_cast<std::byte*>(
        ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow));
#endif
}

void unmap_block(std::byte* block, std::size_t bytes) noexcept {
#if defined(__linux__)
    // A mapping in the middle cannot be split where the system allows no more of them.
    if (::munmap(block, bytes) != 0) ::madvise(block, bytes, MADV_DONTNEED);
#else
    static_cast<void>(bytes);
    ::operator delete (block, std::align_val_t{kAlignment});
#endif
}

bool is_mapped(std::size_t bytes) { return detail::kReusesBlocks && bytes >= kMapped; }

// Size classes: eight per power of two, so at most an eighth of a block is wasted.
struct SizeClass {
    std::size_t index;
    std::size_t bytes;
};

SizeClass size_class(std::size_t bytes) {
    const std::size_t lines = std::max<std::size_t>(1, (bytes + kAlignment - 1) / kAlignment);
    if (lines <= 8) return {lines - 1, lines * kAlignment};
    const auto octave = static_cast<std::size_t>(std::bit_width(lines - 1)) - 4;  // lines-1 >= 8
    const std::size_t step = std::size_t{1} << octave;
    const std::size_t steps = (lines + step - 1) / step;  // 9 .. 16
    return {8 + octave * 8 + (steps - 9), steps * step * kAlignment};
}

// The bytes of the class with this index.
std::size_t class_bytes(std::size_t index) {
    if (index < 8) return (index + 1) * kAlignment;
    return ((index - 8) % 8 + 9) * (std::size_t{1} << (index - 8) / 8) * kAlignment;
}

class Allocator {
public:
    Allocator() { detail::hold_across_fork(mutex_); }

    std::byte* allocate(std::uint64_t bytes) {
        require<MemoryError>(bytes <= kMostBytes,
                             "memory: cannot allocate {} bytes, more than any system has", bytes);
        const auto asked = static_cast<std::size_t>(bytes);
        detail::TurnMemory* const turn = detail::current_turn_memory();
        const std::lock_guard lock(mutex_);
        if (std::byte* place = turn != nullptr ? turn->take(asked) : nullptr) {
            statistics_.cached -= planned_bytes(asked);
            count(planned_bytes(asked));
            return place;
        }
        const SizeClass wanted = size_class(asked);
        std::byte* block = reuse(wanted);
        if (block == nullptr) {
            if (turn != nullptr && turn->may_plan()) make_room(wanted.bytes);
            block = from_system(wanted.bytes);
            // Not for the rest of its size class, which stays unused.
            if (is_mapped(wanted.bytes)) detail::ask_for_huge_pages(block, asked);
        }
        count(wanted.bytes);
        if (turn != nullptr) turn->on_allocate(asked, block);
        return block;
    }

    void free(std::byte* block, std::size_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        if (give_back(block, planned_bytes(bytes))) return;
        for (detail::TurnMemory* turn : turns_) turn->on_free(block);
        const SizeClass had = size_class(bytes);
        statistics_.current -= had.bytes;
        if (detail::kReusesBlocks) {
            // Blocks of sizes that are no longer requested would pile up: when the cache exceeds
            // twice the peak of the memory in use, it is emptied; sizes still in use fill it again.
            if (kept_ + had.bytes > std::max(kAlwaysKept, 2 * most_)) release_locked();
            try {
                free_[had.index].push_back(block);
                keep(had.bytes);
                return;
            } catch (const std::bad_alloc&) {  // no room to record the block: free it
            }
        }
        to_system(block, had.bytes);
    }

    // `arenas`: also the pages of empty places in plans.
    void release_cached(bool arenas) noexcept {
        const std::lock_guard lock(mutex_);
        release_locked();
        if (!arenas) return;
        for (const auto& arena : arenas_) arena->return_empty_places();
    }

    MemoryStatistics statistics() {
        const std::lock_guard lock(mutex_);
        return statistics_;
    }

    void reset_peak() {
        const std::lock_guard lock(mutex_);
        statistics_.peak = statistics_.current;
    }

    std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

    // With the lock held:
    void add(detail::TurnMemory& turn) { turns_.push_back(&turn); }
    void remove(detail::TurnMemory& turn) { std::erase(turns_, &turn); }
    void add(std::shared_ptr<detail::Arena> arena) {
        statistics_.cached += arena->plan().bytes;
        arenas_.push_back(std::move(arena));
    }
    void release_empty_arenas() noexcept {
        std::erase_if(arenas_, [this](const auto& arena) {
            const bool over = arena.use_count() == 1 && arena->is_empty();
            if (over) statistics_.cached -= arena->plan().bytes;
            return over;
        });
    }

private:
    void count(std::size_t bytes) {
        statistics_.current += bytes;
        statistics_.peak = std::max(statistics_.peak, statistics_.current);
        most_ = std::max(most_, statistics_.current);
    }

    void keep(std::size_t bytes) {
        kept_ += bytes;
        statistics_.cached += bytes;
    }

    // Whether the block was a place in an arena.
    bool give_back(const std::byte* block, std::size_t bytes) noexcept {
        for (const auto& arena : arenas_) {
            if (!arena->holds(block)) continue;
            arena->give_back(block);
            statistics_.current -= bytes;
            statistics_.cached += bytes;
            if (arena->is_empty()) release_empty_arenas();
            return true;
        }
        return false;
    }

    std::byte* reuse(const SizeClass& wanted) {
        auto& blocks = free_[wanted.index];
        if (blocks.empty()) return nullptr;
        std::byte* block = blocks.back();
        blocks.pop_back();
        kept_ -= wanted.bytes;
        statistics_.cached -= wanted.bytes;
        return block;
    }

    std::byte* from_system(std::size_t bytes) {
        ++statistics_.system;
        const auto ask = [bytes] {
            if (is_mapped(bytes)) return map_block(bytes);
            return static_cast<std::byte*>(
                ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow));
        };
        std::byte* block = ask();
        if (block == nullptr) {
            release_locked();
            block = ask();
        }
        require<MemoryError>(block != nullptr,
                             "memory: cannot allocate {} more bytes ({} in use by tensors)", bytes,
                             statistics_.current);
        return block;
    }

    // Cached blocks of other sizes would add up with those in use: the largest are returned until
    // there are no more bytes in all than were in use at once.
    void make_room(std::size_t bytes) noexcept {
        const std::size_t most = std::max({kAlwaysKept, most_, statistics_.current + bytes});
        for (std::size_t i = free_.size(); i-- > 0;) {
            while (!free_[i].empty() && statistics_.current + kept_ + bytes > most) {
                to_system(free_[i].back(), class_bytes(i));
                free_[i].pop_back();
                kept_ -= class_bytes(i);
                statistics_.cached -= class_bytes(i);
            }
        }
    }

    static void to_system(std::byte* block, std::size_t bytes) noexcept {
        if (is_mapped(bytes)) return unmap_block(block, bytes);
        ::operator delete (block, std::align_val_t{kAlignment});
    }

    void release_locked() noexcept {
        for (std::size_t i = 0; i < free_.size(); ++i) {
            for (std::byte* block : free_[i]) to_system(block, class_bytes(i));
            free_[i].clear();
        }
        statistics_.cached -= std::exchange(kept_, 0);
    }

    std::mutex mutex_;
    std::array<std::vector<std::byte*>, 8 + 8 * 60> free_;
    MemoryStatistics statistics_;
    std::size_t kept_ = 0;  // cached bytes outside arenas
    std::size_t most_ = 0;  // the most bytes ever in use at a time
    std::vector<detail::TurnMemory*> turns_;
    std::vector<std::shared_ptr<detail::Arena>> arenas_;
};

// Never destroyed: tensors in static variables may outlive it otherwise.
Allocator& allocator() {
    static auto* instance = new Allocator;
    return *instance;
}

}  // namespace

Storage::Storage(std::uint64_t bytes)
    : data_(allocator().allocate(bytes)), bytes_(static_cast<std::size_t>(bytes)) {}
Storage::Storage(std::byte* borrowed, std::size_t bytes)
    : data_(borrowed), bytes_(bytes), borrowed_(true) {}
Storage::~Storage() {
    if (!borrowed_) allocator().free(data_, bytes_);
}

namespace detail {
std::unique_lock<std::mutex> lock_blocks() { return allocator().lock(); }
void watch_blocks(TurnMemory& memory) { allocator().add(memory); }
void unwatch_blocks(TurnMemory& memory) {
    allocator().remove(memory);
    release_arenas();
}
void keep_arena(std::shared_ptr<Arena> arena) { allocator().add(std::move(arena)); }
void release_arenas() { allocator().release_empty_arenas(); }
void release_cached_blocks() { allocator().release_cached(false); }
}  // namespace detail

MemoryStatistics memory_statistics() { return allocator().statistics(); }
void reset_peak_memory() { allocator().reset_peak(); }
void release_cached_memory() { allocator().release_cached(true); }

}  // namespace tapestry
