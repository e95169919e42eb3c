#include <tapestry/nn/inspect/memory_layout.h>

#include <tapestry/core/memory_plan.h>

namespace tapestry {
namespace {

constexpr std::size_t kMostBlocks = 4096;

bool belongs_to_step(const MemoryLife& life) {
    return life.kind == MemoryKind::activation || life.kind == MemoryKind::gradient;
}

}  // namespace

MemoryLayout lay_out(const MemoryTrace& trace) {
    MemoryLayout layout;
    layout.offsets.resize(trace.lives().size());
    const std::size_t events = trace.bytes().size();
    std::vector<BlockLife> blocks;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < trace.lives().size(); ++i) {
        const MemoryLife& life = trace.lives()[i];
        if (!belongs_to_step(life)) continue;
        const auto from = static_cast<std::size_t>(life.born);
        const std::size_t to = life.died < 0 ? events : static_cast<std::size_t>(life.died) + 1;
        blocks.push_back({.bytes = life.bytes, .from = from, .length = to - from});
        who.push_back(i);
    }
    if (blocks.size() > kMostBlocks) return layout;
    const MemoryPlan plan = plan_memory(blocks, events);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        layout.offsets[who[i]] = plan.offsets[i];
        layout.apart += planned_bytes(blocks[i].bytes);
    }
    layout.bytes = plan.bytes;
    layout.least = plan.least;
    return layout;
}

}  // namespace tapestry
