// Team: threads that stay together for many parallel loops, a whole training step say.
//
// An OpenMP region costs a microsecond to open and close, and closing it waits for every thread,
// even one that the system has put aside for another program. A step of a small model is a hundred
// loops of a few microseconds each. So one region is opened around all of them: its first thread
// goes on as if nothing had happened, the others wait in it for loops to share.
//
//     Team::run([&] { loss = model.loss(x, y); tape.backward(loss); optimizer.step(); });
//
// A loop is handed over by one store and costs some 0.2 microseconds. A thread that comes late
// finds less to do, or nothing: the others have taken its chunks, and nobody waits for it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tapestry {

class Team {
public:
    /// f() on this thread, with num_threads() threads to share the loops inside. Inside another
    /// team, or another parallel loop, or with one thread, just f(). What f throws is thrown again.
    template <class F>
    static void run(F&& f) {
        using Plain = std::remove_reference_t<F>;
        run_erased([](void* context) { (*static_cast<Plain*>(context))(); },
                   const_cast<void*>(static_cast<const void*>(&f)));
    }

    /// Is this thread the one that runs a team's f?
    static bool is_leader();

private:
    static void run_erased(void (*f)(void*), void* context);
};

namespace detail {
using ChunkFunction = void (*)(void* context, std::int64_t chunk);

/// Calls f(context, 0 .. chunks - 1), each once, in any order, on up to num_threads() threads: the
/// team's, if this thread leads one. An exception thrown by f is thrown again here; of several,
/// that of the lowest chunk.
void parallel_chunks(std::int64_t chunks, ChunkFunction f, void* context);
}  // namespace detail

}  // namespace tapestry
