// The memory layout on the inspect page: blocks alive at the same time do not overlap, and the
// arena is at least as large as the peak of live bytes.
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/inspect/memory_trace.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;

namespace {

int last_event_of(const MemoryLife& life, const MemoryTrace& trace) {
    return life.died < 0 ? trace.time() : life.died;
}

bool live_together(const MemoryLife& a, const MemoryLife& b, const MemoryTrace& trace) {
    return a.born <= last_event_of(b, trace) && b.born <= last_event_of(a, trace);
}

// The bytes of a step's blocks alive at an event, in whole cache lines.
std::size_t bytes_at(int event, const MemoryTrace& trace, const MemoryLayout& layout) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < trace.lives().size(); ++i) {
        const MemoryLife& life = trace.lives()[i];
        if (!layout.offsets[i]) continue;
        if (life.born <= event && event <= last_event_of(life, trace)) {
            bytes += (life.bytes + 63) / 64 * 64;
        }
    }
    return bytes;
}

}  // namespace

TEST_CASE("memory layout: of a GPT's step") {
    Generator generator(3);
    const GPT model({.vocab = 11, .context = 8, .layers = 2, .heads = 2, .dim = 16}, generator);
    const Tensor ids = randint(0, 11, {3, 8}, generator);
    Inspector inspector(model);
    Tape tape;
    tape.backward(model.loss(ids, ids));
    inspector.finish();
    const MemoryTrace& trace = inspector.memory();
    const MemoryLayout layout = lay_out(trace);
    REQUIRE_EQ(layout.offsets.size(), trace.lives().size());

    std::size_t pairs_in_one_place = 0;
    for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
        const MemoryLife& a = trace.lives()[i];
        const bool given = a.kind == MemoryKind::parameter || a.kind == MemoryKind::input;
        CHECK_EQ(layout.offsets[i].has_value(), !given);
        if (given) continue;
        const std::size_t begin = *layout.offsets[i], end = begin + a.bytes;
        CHECK_LE(end, layout.bytes);
        for (std::size_t j = 0; j < i; ++j) {
            if (!layout.offsets[j]) continue;
            const MemoryLife& b = trace.lives()[j];
            const bool meet = begin < *layout.offsets[j] + b.bytes && *layout.offsets[j] < end;
            if (meet) CHECK_FALSE(live_together(a, b, trace));
            pairs_in_one_place += meet ? 1 : 0;
        }
    }
    CHECK_GT(pairs_in_one_place, 50);

    std::size_t most = 0;
    for (int t = 0; t <= trace.time(); ++t) most = std::max(most, bytes_at(t, trace, layout));
    CHECK_EQ(layout.least, most);
    CHECK_LE(layout.least, layout.bytes);
    CHECK_LE(static_cast<double>(layout.bytes), 1.05 * static_cast<double>(layout.least));
    CHECK_GT(layout.apart, layout.bytes);
}

TEST_CASE("memory layout: of a step in which nothing happened") {
    const MemoryLayout layout = lay_out(MemoryTrace());
    CHECK(layout.offsets.empty());
    CHECK_EQ(layout.bytes, 0);
}
