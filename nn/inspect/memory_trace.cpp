#include <tapestry/nn/inspect/memory_trace.h>

#include <tapestry/core/planned_memory.h>

#include <algorithm>

namespace tapestry {

void MemoryTrace::sweep() {
    for (auto each = alive_.begin(); each != alive_.end();) {
        if (each->second.storage.expired()) {
            end(each->second.life);
            each = alive_.erase(each);
        } else {
            ++each;
        }
    }
}

void MemoryTrace::end(std::size_t life) {
    lives_[life].died = time();
    freed_[time()] += lives_[life].bytes;
}

void MemoryTrace::advance() { bytes_.push_back(memory_statistics().current); }

void MemoryTrace::note_bytes() { bytes_.back() = memory_statistics().current; }

void MemoryTrace::see(const Tensor& x, const std::string& name, MemoryKind kind, int entry) {
    if (!x.defined() || life_of(x) != nullptr) return;
    // A dead block's address may have been reused before the next sweep.
    if (const auto dead = alive_.find(x.storage().get()); dead != alive_.end()) {
        end(dead->second.life);
    }
    alive_.insert_or_assign(x.storage().get(), Watched{x.storage(), lives_.size()});
    lives_.push_back({name, kind, entry, x.storage()->bytes(), std::max(time(), 0), -1});
}

const MemoryLife* MemoryTrace::life_of(const Tensor& x) const {
    const auto found = x.defined() ? alive_.find(x.storage().get()) : alive_.end();
    if (found == alive_.end() || found->second.storage.expired()) return nullptr;
    return &lives_[found->second.life];
}

bool MemoryTrace::knows(const Tensor& x) const { return life_of(x) != nullptr; }

std::size_t MemoryTrace::freed_at(int time) const {
    const auto found = freed_.find(time);
    return found == freed_.end() ? 0 : found->second;
}

int MemoryTrace::peak() const {
    const auto most = std::max_element(bytes_.begin(), bytes_.end());
    return most == bytes_.end() ? -1 : static_cast<int>(most - bytes_.begin());
}

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
