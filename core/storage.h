// Memory behind tensors: 64-byte aligned blocks from a caching allocator.
//
// A training step requests the same sizes every time, so freed blocks are kept by size class and
// reused: after the first step nothing is requested from the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tapestry {

/// One block of memory, shared by every tensor that views it.
class Storage {
public:
    /// `bytes` of uninitialised memory. Throws MemoryError if the system has no more.
    explicit Storage(std::uint64_t bytes);
    /// Memory owned by the caller (from_blob in create.h).
    Storage(std::byte* borrowed, std::size_t bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    std::byte* data() const { return data_; }       ///< the first byte
    std::size_t bytes() const { return bytes_; }    ///< size of the block
    bool is_borrowed() const { return borrowed_; }  ///< whether the caller owns the memory

    /// Counts in-place changes, by which a tape notices that a saved tensor has changed since.
    std::uint64_t version() const { return version_; }
    /// Counts a change. Call it when you write to data().
    void bump_version() { ++version_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint64_t version_ = 0;
    bool borrowed_ = false;
};

/// How tensors share a block: it is freed with the last of them.
using StoragePtr = std::shared_ptr<Storage>;

/// The memory of all tensors of this process, in bytes.
struct MemoryStatistics {
    std::size_t current = 0;   ///< bytes in live tensors
    std::size_t peak = 0;      ///< the maximum of `current` since reset_peak_memory()
    std::size_t cached = 0;    ///< bytes kept for reuse
    std::uint64_t system = 0;  ///< number of allocations from the system
};

/// The numbers at this moment, over all threads.
MemoryStatistics memory_statistics();
/// Sets `peak` to `current`.
void reset_peak_memory();
/// Returns cached blocks to the system. Memory plans (planned_memory.h) stay: on Linux the pages of
/// places that no tensor uses are returned until the next step writes to them, but count as
/// `cached` still.
void release_cached_memory();

/// Calls release_cached_memory() after each `most` bytes that are no longer used, while many
/// tensors are replaced one by one, as when a model is converted: kept blocks and new ones would
/// add up.
class PeriodicRelease {
public:
    /// `most`: bytes that may be unused.
    explicit PeriodicRelease(std::size_t most = std::size_t{32} << 20) : most_(most) {}

    /// Says that `bytes` more are no longer used.
    void add(std::size_t bytes) {
        unused_ += bytes;
        if (unused_ >= most_) finish();
    }

    /// Returns the rest.
    void finish() {
        release_cached_memory();
        unused_ = 0;
    }

private:
    std::size_t most_;
    std::size_t unused_ = 0;
};

}  // namespace tapestry
