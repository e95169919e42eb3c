// Birth and death of the memory behind tensors, as seen by somebody who is told of tensors at
// points in time, and where the blocks could lie if that memory were planned. A MemoryTrace holds
// nothing alive: a block is dead when nobody else holds it any more.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tapestry {

enum class MemoryKind { parameter, input, activation, gradient };

/// One block of memory, which several tensors may view.
struct MemoryLife {
    std::string name;  ///< of the first tensor that was seen to lie there
    MemoryKind kind = MemoryKind::activation;
    int entry = -1;  ///< whose output or whose rule's result it first was; -1: given from outside
    std::size_t bytes = 0;
    int born = 0;
    int died = -1;  ///< the time after which it was found dead; -1: not yet
};

class MemoryTrace {
public:
    /// Who was found dead died at the time that now ends.
    void sweep();
    /// Time goes on.
    void advance();
    /// What is in live tensors now counts for this time, instead of what was at its beginning.
    void note_bytes();

    /// The block of `x`, if it is new, is born now.
    void see(const Tensor& x, const std::string& name, MemoryKind kind, int entry);

    /// Has the block of x been seen?
    bool knows(const Tensor& x) const;

    /// Bytes of the blocks that died at that time.
    std::size_t freed_at(int time) const;

    int time() const { return static_cast<int>(bytes_.size()) - 1; }
    const std::vector<MemoryLife>& lives() const { return lives_; }
    /// Bytes in live tensors of this process, of whatever kind, at each time.
    const std::vector<std::size_t>& bytes() const { return bytes_; }
    /// When that was most; -1 if there is no time yet.
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
    std::unordered_map<int, std::size_t> freed_;  // by time: so that no step looks at every life
};

// ---- the layout ---------------------------------------------------------------------------------

// Who takes whose place, and how little memory would hold all blocks of an inspected step. For this
// nothing need have been planned: a plan is made of the lives that were traced
// (core/memory_plan.h), as `train --plan` makes one of those of two steps.
//
// Time is counted in events here, the entries recorded and walked, and a block counts as needed at
// both ends of its life; blocks that live only inside an operation were never seen. So `bytes` is
// near what a plan of the allocator's own needs, and not the same.

struct MemoryLayout {
    /// Of each life, from the beginning of the piece; none for parameters and what was given, which
    /// are there before the step and after it.
    std::vector<std::optional<std::size_t>> offsets;
    std::size_t apart = 0;  ///< bytes, if each block had memory of its own
    std::size_t bytes = 0;  ///< of the piece
    std::size_t least = 0;  ///< the most in use at one event: no layout has less
};

/// Nothing has a place where there are more than 4096 blocks: a plan looks at every two of them.
MemoryLayout lay_out(const MemoryTrace& trace);

}  // namespace tapestry
