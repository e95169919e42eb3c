#include <tapestry/ops/staging.h>

#include <tapestry/core/thread_exit.h>
#include <tapestry/ops/kernels/table.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tapestry {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line
constexpr std::int64_t kLine = 64 / sizeof(float);

float* allocate(std::int64_t n) {
    return static_cast<float*>(
        ::operator new(sizeof(float) * static_cast<std::size_t>(n), kAlignment));
}
void release(float* p) { ::operator delete(p, kAlignment); }

// A stack allocator over one block. Requests that do not fit go to the system, and the block grows
// the next time it is empty.
class Kept {
public:
    Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { release(data_); }

    float* take(std::int64_t n) {
        if (taken_ == 0 && most_ > size_) grow();
        float* const p = taken_ + n <= size_ ? data_ + taken_ : allocate(n);
        taken_ += n;
        most_ = std::max(most_, taken_);
        return p;
    }
    void on_free(float* p, std::int64_t n) {
        taken_ -= n;
        if (taken_ + n > size_) release(p);
    }

private:
    // 4 MB; the backward pass of a head of 1024 queries of size 64 takes 1.8 MB.
    static constexpr std::int64_t kMost = 1 << 20;

    void grow() {
        const std::int64_t size = std::min(most_, kMost);
        if (size == size_) return;
        float* const data = allocate(size);
        release(std::exchange(data_, data));
        size_ = size;
    }

    float* data_ = nullptr;
    std::int64_t size_ = 0, taken_ = 0, most_ = 0;
};

Kept& kept() {
    static thread_local Kept* kept = nullptr;
    return of_this_thread(kept);
}

}  // namespace

StagingRoom::StagingRoom(std::int64_t n)
    : n_((n + kLine - 1) / kLine * kLine), data_(kept().take(n_)) {}

StagingRoom::~StagingRoom() { kept().on_free(data_, n_); }

void widen(float* to, const Bf16* from, std::int64_t n, std::int64_t ahead) {
    kernels::table<float>().half.widen(to, from, n, ahead);
}

void narrow(Bf16* to, const float* from, std::int64_t n) {
    kernels::table<float>().half.narrow(to, from, n);
}

void widen_rows(float* to, const Bf16* from, std::int64_t row, std::int64_t count,
                std::int64_t width) {
    kernels::table<float>().half.widen_rows(to, from, row, count, width);
}

void narrow_rows(Bf16* to, std::int64_t row, const float* from, std::int64_t count,
                 std::int64_t width) {
    kernels::table<float>().half.narrow_rows(to, row, from, count, width);
}

}  // namespace tapestry
