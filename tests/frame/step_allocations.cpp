// A ctest: how often a training step calls malloc, on any thread. After the first few, which fill
// lists, make moments and a plan, never: tensors are in a planned arena or in the allocator's
// blocks, and a step's other objects are recycled (core/recycling.h). This malloc counts its calls
// and forwards them.
//
//     step_allocations            every case, and the calls of each step that made any
//
// To find the caller: gdb, with a breakpoint at `somebody_asked`.
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_config.h>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// glibc's own functions, under names that allow replacing malloc.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

constinit std::atomic<std::int64_t> calls{0};
constinit std::atomic<bool> is_counting{false};

}  // namespace

extern "C" [[gnu::noinline]] void somebody_asked() { ++calls; }

namespace {

void count() {
    if (is_counting.load(std::memory_order_relaxed)) somebody_asked();
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) noexcept { return count(), __libc_malloc(bytes); }
void* calloc(std::size_t n, std::size_t bytes) noexcept { return count(), __libc_calloc(n, bytes); }
void* realloc(void* block, std::size_t bytes) noexcept {
    return count(), __libc_realloc(block, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    return count(), __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return count(), __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
    count();
    *block = __libc_memalign(alignment, bytes);
    return *block == nullptr ? ENOMEM : 0;
}
}

namespace {

using namespace tapestry;

constexpr int kSteps = 24, kFirst = 6;  // the plan is made when the fourth begins
// A thread allocates its buffers at its first chunk of a kind, late on a busy machine: with several
// threads, half of these steps may include such a chunk. An allocation of the step itself occurs in
// all of them.
constexpr int kLate = (kSteps - kFirst) / 2;

struct Case {
    std::string_view name;
    TrainingConfig config;
    int threads = 1;
};

std::vector<Case> cases(const std::string& text) {
    TrainingConfig plain;
    plain.text = text;
    plain.batch = 4;
    plain.steps = kSteps;
    plain.warmup = 2;
    plain.eval_every = kSteps;
    plain.eval_batches = 1;
    plain.model.context = 16;
    plain.model.layers = 2;
    plain.model.heads = 2;
    plain.model.dim = 32;
    TrainingConfig dropout = plain, summed = plain, clipped = plain, fast = plain;
    dropout.model.dropout = 0.1;
    summed.model.dropout = 0.1;
    summed.accumulate = 2;
    clipped.clip = 1e-3;
    fast.recipe = Recipe::fast;  // on one thread: with several, any may get Muon's matrices
    fill_in_recipe(fast, {"text", "context", "layers", "heads", "dim", "batch", "steps",
                          "eval_every", "eval_batches"});
    return {{"plain", plain},
            {"the fast recipe", fast},
            {"clipped", clipped},
            {"with dropout", dropout},
            {"with dropout, two threads", dropout, 2},
            {"with dropout, two batches a step", summed}};
}

std::int64_t calls_of_step(Session& session) {
    calls = 0;
    is_counting = true;
    session.take_step();
    is_counting = false;
    return calls;
}

// Did every step allocate nothing, except the first few and the last, which evaluates?
bool passes(const Case& the_case, bool plan) {
    const ThreadsGuard threads(the_case.threads);
    set_planning(plan);
    Session session(the_case.config);
    set_planning(false);
    int steps_that_asked = 0;
    for (int step = 1; step < kSteps; ++step) {
        const std::int64_t asked = calls_of_step(session);
        if (step == 1 && asked == 0) {
            fmt::print("the first step asked for nothing: calls are not counted here\n");
            return false;
        }
        if (step < kFirst || asked == 0) continue;
        fmt::print("{}{}: {} calls of malloc in step {}\n", the_case.name, plan ? ", planned" : "",
                   asked, step);
        ++steps_that_asked;
    }
    return steps_that_asked <= (the_case.threads > 1 ? kLate : 0);
}

int run(const std::filesystem::path& text) {
    std::string words;
    for (int i = 0; i < 60; ++i)
        words += "The cat sat on mat " + std::to_string(i * i % 17) + ".\n";
    write_file_atomically(text, words);
    int failures = 0;
    for (const Case& each : cases(text.string())) {
        for (const bool plan : {true, false}) failures += passes(each, plan) ? 0 : 1;
    }
    std::filesystem::remove(text);
    return failures;
}

}  // namespace

int main() {
    try {
        return run(std::filesystem::temp_directory_path() /
                   fmt::format("step_allocations.{}.txt", getpid())) == 0
                   ? 0
                   : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "step_allocations: {}\n", error.what());
        return 1;
    }
}
