// Lifetimes of the memory behind tensors, from tensors seen at points in time, and a possible
// layout if that memory were planned. A MemoryTrace keeps nothing alive: a block is dead when its
// last other owner releases it.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tapestry {

/// What a block of memory holds.
enum class MemoryKind {
    parameter,   ///< a parameter of the model, or another leaf
    input,       ///< an input that no operation of the step computed
    activation,  ///< computed in the forward pass
    gradient     ///< a gradient, on its way or at a leaf
};

/// One block of memory, possibly viewed by several tensors.
struct MemoryLife {
    std::string name;                          ///< of the first tensor seen in it
    MemoryKind kind = MemoryKind::activation;  ///< what it holds
    int entry = -1;  ///< entry whose output, or whose rule's result, it first was; -1: from outside
    std::size_t bytes = 0;  ///< size of the block
    int born = 0;           ///< time at which it was first seen
    int died = -1;          ///< time after which it was found dead; -1: not yet
};

/// The life of every block of memory that a step touches.
class MemoryTrace {
public:
    /// Marks freed blocks as dead at the current time, which ends.
    void sweep();
    /// Starts the next time.
    void advance();
    /// Updates the current time's bytes in live tensors, taken at its start, to their present
    /// number.
    void note_bytes();

    /// Starts the life of x's block, if it is new.
    void see(const Tensor& x, const std::string& name, MemoryKind kind, int entry);

    /// Whether the block of x has been seen.
    bool knows(const Tensor& x) const;

    /// Bytes of the blocks that died at that time.
    std::size_t freed_at(int time) const;

    int time() const { return static_cast<int>(bytes_.size()) - 1; }  ///< the current time, from 0
    /// In the order in which they were first seen.
    const std::vector<MemoryLife>& lives() const { return lives_; }
    /// Bytes in live tensors of this process, of any kind, at each time.
    const std::vector<std::size_t>& bytes() const { return bytes_; }
    /// The time at which that was largest; -1 without any.
    int peak() const;

private:
    const MemoryLife* life_of(const Tensor& x) const;
    void end(std::size_t life);

    struct Watched {
        std::weak_ptr<Storage> storage;
        std::size_t life;
    };
    std::unordered_map<const Storage*, Watched> alive_;
    std::vector<MemoryLife> lives_;
    std::vector<std::size_t> bytes_;
    std::unordered_map<int, std::size_t> freed_;  // by time; saves searching all lives
};

// ---- the layout ---------------------------------------------------------------------------------

// How blocks of an inspected step can share memory, and how little memory would hold them. The step
// need not have been planned: the plan is computed from the traced lives (core/planned_memory.h),
// as `train --plan` computes one from those of two steps.
//
// Time is counted in events here, entries recorded and run backward, and a block is in use at both
// ends of its life; blocks that exist only within an operation are not seen. So `bytes` is close to
// what the allocator's own plan needs, but not equal to it.

/// Places for the blocks of a step in one arena.
struct MemoryLayout {
    /// Offset of each life in the arena; empty for parameters and inputs, which exist before and
    /// after the step.
    std::vector<std::optional<std::size_t>> offsets;
    std::size_t apart = 0;  ///< bytes, if each block had its own memory
    std::size_t bytes = 0;  ///< of the arena
    std::size_t least = 0;  ///< most bytes in use at one event: a lower bound for any layout
};

/// Gives no offsets if there are more than 4096 blocks, because planning compares all pairs.
MemoryLayout lay_out(const MemoryTrace& trace);

}  // namespace tapestry
