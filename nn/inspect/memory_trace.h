// Birth and death of the memory behind tensors, as seen by somebody who is told of tensors at
// points in time. It holds nothing alive: a block is dead when nobody else holds it any more.
#pragma once

#include <tapestry/core/tensor.h>

#include <memory>
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

}  // namespace tapestry
