// The branches that a run took, as a hash of everything that its ops decided.
#include <tapestry/autograd/check/subject.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>

#include <algorithm>
#include <cstring>

namespace tapestry::checker {
namespace {

// Mixes a word into a hash (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    std::uint64_t z = (hash ^ word) + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

std::uint64_t hash_of(std::uint64_t hash, const Tensor& x) {
    const Tensor whole = dense(x);
    const std::byte* bytes = static_cast<const std::byte*>(whole.storage()->data()) +
                             static_cast<std::size_t>(whole.offset()) * size_of(whole.dtype());
    std::size_t left = whole.bytes();
    while (left > 0) {
        const std::size_t n = std::min<std::size_t>(left, sizeof(std::uint64_t));
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, n);
        hash = mixed(hash, word);
        bytes += n;
        left -= n;
    }
    return hash;
}

}  // namespace

void BranchTrace::recorded(const Op& op, const Tensors& inputs, const Tensors&) {
    if (busy_) return;
    busy_ = true;
    const NoGradGuard no_grad;
    std::uint64_t decided = 0;
    for (const Tensor& x : inputs) {
        if (x.defined() && !is_floating(x.dtype())) decided = hash_of(decided, x);
    }
    if (const Tensor own = op.decisions(inputs); own.defined()) decided = hash_of(decided, own);
    std::uint64_t taken = mixed(decided, op.inputs().size());
    for (const char c : op.name()) taken = mixed(taken, static_cast<unsigned char>(c));
    if (decided != 0) branches.decided = mixed(branches.decided, decided);
    branches.all = mixed(branches.all, taken);
    if (named_) branches.steps.push_back({op.described(), taken});
    busy_ = false;
}

}  // namespace tapestry::checker
