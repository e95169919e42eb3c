// The processor's floating-point state: rounding mode, and whether subnormal numbers are flushed to
// zero. It belongs to a thread and changes what every instruction computes; any library may change
// it (-ffast-math at load time, torch.set_flush_denormal, fesetround). All of Tapestry's loops run
// under the standard's state, on the caller's thread as on all others, and give the caller's back.
#pragma once

#include <cstdint>

namespace tapestry {

/// Rounding to nearest, subnormals kept, until this leaves scope; then as before. Exception flags
/// and masks stay the caller's. Always inlined: kernels' objects have no weak functions of their
/// own instruction set that others could call.
class FloatingPointGuard {
public:
    /// Sets the standard's state for this thread, which must also destroy the guard.
    [[gnu::always_inline]] FloatingPointGuard() : before_(read()) {
        if ((before_ & kChanging) != 0) [[unlikely]]
            write(before_ & ~kChanging);
    }
    [[gnu::always_inline]] ~FloatingPointGuard() {
        if ((before_ & kChanging) != 0) [[unlikely]]
            write((read() & ~kChanging) | (before_ & kChanging));
    }
    FloatingPointGuard(const FloatingPointGuard&) = delete;
    FloatingPointGuard& operator=(const FloatingPointGuard&) = delete;

private:
// The bits that change results are 0 in the standard's state.
#if defined(__x86_64__)
    using Word = std::uint32_t;                // MXCSR
    static constexpr Word kChanging = 0xE040;  // FZ, rounding, DAZ
    [[gnu::always_inline]] static Word read() {
        Word word = 0;
        asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
        return word;
    }
    [[gnu::always_inline]] static void write(Word word) {
        asm volatile("ldmxcsr %0" : : "m"(word) : "memory");
    }
#elif defined(__aarch64__)
    using Word = std::uint64_t;                   // FPCR
    static constexpr Word kChanging = 0x7C80003;  // AHP, DN, FZ, rounding, FZ16, AH, FIZ
    [[gnu::always_inline]] static Word read() {
        Word word = 0;
        asm volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
        return word;
    }
    [[gnu::always_inline]] static void write(Word word) {
        asm volatile("msr fpcr, %0" : : "r"(word) : "memory");
    }
#else  // WebAssembly has only this state
    using Word = std::uint32_t;
    static constexpr Word kChanging = 0;
    [[gnu::always_inline]] static Word read() { return 0; }
    [[gnu::always_inline]] static void write(Word) {}
#endif

    Word before_;
};

}  // namespace tapestry
