// What a tile asks of the memory while it computes: the rows of A that come next. See gemm.h.
//
// The first panel of a chunk is where A is read for the first time; for the others it is in L2.
#pragma once

#include <tapestry/ops/kernels/gemm_tile.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {

/// Rows of C in tiles, the last of which may be lower.
struct Tiles {
    std::int64_t rows = 0, height = 1;
    std::int64_t count() const { return (rows + height - 1) / height; }
    std::int64_t size(std::int64_t tile) const {
        return tile + 1 < count() ? height : rows - tile * height;
    }
};

template <class T>
class Ahead {
public:
    /// Nothing.
    Ahead() = default;

    /// Beyond the A of `first`, the first tile of a panel.
    explicit Ahead(const Tile<T>& first) : a_(first.a), row_(first.a_row), col_(first.a_col) {}

    /// The share of tile number `tile`, of `height` rows and `depth` steps of k.
    Fetch<T> during(std::int64_t tile, std::int64_t height, std::int64_t depth) const {
        if (a_ == nullptr) return {};
        // Rows of A run along k: one line of each row of the next tile, then the line after it.
        if (col_ == 1) return {a_ + (tile + 1) * height * row_, row_, kLine<T>};
        // They run across k, and a line of each serves two or three tiles: those ask for the line
        // after it, one at some steps of k, the next at the following ones.
        const std::int64_t share = height * ((depth + kLine<T> - 1) / kLine<T>);
        const std::int64_t place = tile * share;
        const std::int64_t line = 1 + place / depth, step = place % depth;
        return {a_ + line * kLine<T> + step * col_, col_, height * col_};
    }

private:
    const T* a_ = nullptr;
    std::int64_t row_ = 0, col_ = 0;
};

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
