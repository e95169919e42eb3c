// C = A B of bf16 by AMX tiles: sixteen times the multiply-adds of AVX-512 in f32. Compiled only
// for the ISA avx512_amx, whose other kernels are those of AVX-512 (table.cpp).
//
// Two tiles of A times two of B: 32 x 32 of C in four f32 tiles, so each tile that is read is used
// twice.
//
// What an element's bits depend on: of the 32 steps of k in a tile, TDPBF16PS sums the even and the
// odd ones separately, in order, each product and sum fused; then it adds the two sums, then adds
// that to the accumulator. Subnormal numbers count as 0. Source: Intel, "Architecture Instruction
// Set Extensions Programming Reference", TDPBF16PS. Read first: half_panels.h.
#include <tapestry/ops/kernels/half_panels.h>

namespace tapestry::kernels::TAPESTRY_ISA_NAME {
namespace {

struct TileConfig {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

class Tdpbf16ps {
public:
    Tdpbf16ps() {
        const TileConfig config;
        _tile_loadconfig(&config);
    }
    Tdpbf16ps(const Tdpbf16ps&) = delete;
    Tdpbf16ps& operator=(const Tdpbf16ps&) = delete;
    ~Tdpbf16ps() { _tile_release(); }

    void multiply(const std::uint16_t* a, const std::uint16_t* b, std::int64_t steps,
                  std::int64_t /*rows*/, float* c) const {
        constexpr int kLine = 2 * kTileDepth;  // bytes
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (std::int64_t s = 0; s < steps; ++s, a += 2 * kTileSize, b += 2 * kTileSize) {
            _tile_loadd(4, a, kLine);
            _tile_loadd(5, a + kTileSize, kLine);
            _tile_loadd(6, b, kLine);
            _tile_loadd(7, b + kTileSize, kLine);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        constexpr int kRow = 4 * kPanel;
        _tile_stored(0, c, kRow);
        _tile_stored(1, c + kTileSide, kRow);
        _tile_stored(2, c + kTileSide * kPanel, kRow);
        _tile_stored(3, c + kTileSide * kPanel + kTileSide, kRow);
    }
};

}  // namespace

template <>
void install(HalfGemm& kernels) {
    install_instruction<Tdpbf16ps>(kernels);
}

}  // namespace tapestry::kernels::TAPESTRY_ISA_NAME
