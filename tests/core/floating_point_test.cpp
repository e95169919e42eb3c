// The caller's rounding mode and flushing of subnormals do not reach the loops, on any thread, and
// are the caller's again afterwards.
#include <tapestry/core/parallel.h>
#include <tapestry/tests/core/floating_point_state.h>
#include <tapestry/tests/core/support.h>

#include <atomic>
#include <stdexcept>

using namespace tapestry;
using test::FloatingPointState;
using test::kHostile;

namespace {

// The number of chunks that ran under another state than the standard's.
std::int64_t disturbed(std::int64_t chunks) {
    std::atomic<std::int64_t> count{0};
    parallel_for_chunks(chunks, [&](std::int64_t) {
        if (FloatingPointState::now() != 0) ++count;
        for (int i = 0; i < 20000; ++i) asm volatile("" ::: "memory");  // long enough to be shared
    });
    return count;
}

}  // namespace

TEST_CASE("floating point: chunks run under the standard's state on every thread") {
    for (const int threads : {1, 2, 3}) {
        const ThreadsGuard guard(threads);
        for (const std::int64_t chunks : {1, 2, 64}) {
            INFO(threads, " threads, ", chunks, " chunks");
            // Also if the pool starts under another state, which new threads inherit.
            const FloatingPointState hostile(kHostile);
            CHECK_EQ(disturbed(chunks), 0);
            CHECK_EQ(FloatingPointState::now(), kHostile);
        }
    }
}

TEST_CASE("floating point: a chunk that throws gives the state back") {
    const FloatingPointState hostile(kHostile);
    for (const std::int64_t chunks : {1, 8}) {
        CHECK_THROWS_AS(
            parallel_for_chunks(chunks, [](std::int64_t) { throw std::runtime_error("no"); }),
            std::runtime_error);
        CHECK_EQ(FloatingPointState::now(), kHostile);
    }
}

TEST_CASE("floating point: a chunk's own change does not leave the loop") {
    parallel_for_chunks(1, [](std::int64_t) { const FloatingPointState hostile(kHostile); });
    CHECK_EQ(FloatingPointState::now(), 0);
}
