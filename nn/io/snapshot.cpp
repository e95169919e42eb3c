#include <tapestry/nn/io/snapshot.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tapestry {
namespace {

// Memory that is read while it is copied comes from further away than any cache: a piece has to be
// large enough to be worth a thread's turn, and small enough that all have work to the end.
constexpr std::size_t kPiece = std::size_t{1} << 20;

struct Piece {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

void add_pieces(std::vector<Piece>& pieces, Tensor& to, const Tensor& from) {
    visit_dtype(from.dtype(), [&](auto zero) {
        using T = decltype(zero);
        auto* write = reinterpret_cast<std::byte*>(to.mutable_data<T>());
        const auto* read = reinterpret_cast<const std::byte*>(from.data<T>());
        for (std::size_t at = 0; at < from.bytes(); at += kPiece) {
            pieces.push_back({write + at, read + at, std::min(kPiece, from.bytes() - at)});
        }
    });
}

bool fits(const std::pair<std::string, Tensor>& copy, const std::string& name, const Tensor& x) {
    return copy.first == name && copy.second.shape() == x.shape() &&
           copy.second.dtype() == x.dtype();
}

}  // namespace

void Snapshot::take(const Checkpoint& checkpoint) {
    CheckpointFile now = file_of(checkpoint);
    copy_.metadata = std::move(now.metadata);
    if (!std::exchange(is_copy_, true)) copy_.tensors.clear();
    copy_.tensors.resize(now.tensors.size());
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < now.tensors.size(); ++i) {
        const Tensor from = dense(now.tensors[i].second);
        auto& copy = copy_.tensors[i];
        if (!copy.second.defined() || !fits(copy, now.tensors[i].first, from)) {
            copy = {now.tensors[i].first, Tensor(from.shape(), from.dtype())};
        }
        now.tensors[i].second = from;  // lives until it is copied
        add_pieces(pieces, copy.second, from);
    }
    parallel_for_chunks(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
        const Piece& piece = pieces[static_cast<std::size_t>(i)];
        std::memcpy(piece.to, piece.from, piece.bytes);
    });
}

void Snapshot::refer(const Checkpoint& checkpoint) {
    copy_ = file_of(checkpoint);
    is_copy_ = false;
}

NamedTensors Snapshot::weights() const {
    NamedTensors weights;
    for (const auto& [name, tensor] : copy_.tensors) {
        if (name.starts_with(kModelPrefix)) {
            weights.emplace_back(name.substr(kModelPrefix.size()), tensor);
        }
    }
    return weights;
}

}  // namespace tapestry
