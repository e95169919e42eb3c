// Sets the thread's floating-point state as another library might, until it leaves scope.
#pragma once

#include <cstdint>

namespace tapestry::test {

#if defined(__x86_64__)
using StateWord = unsigned;
inline constexpr StateWord kStateBits = 0xE040;  // of MXCSR: rounding, flushing
inline constexpr StateWord kHostile = 0xC040;    // rounds up, flushes results and operands

inline StateWord read_state() {
    StateWord word = 0;
    asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
    return word;
}
inline void write_state(StateWord word) { asm volatile("ldmxcsr %0" : : "m"(word) : "memory"); }
#elif defined(__aarch64__)
using StateWord = std::uint64_t;
inline constexpr StateWord kStateBits = 0x1C00000;  // of FPCR: rounding, flushing
inline constexpr StateWord kHostile = 0x1400000;    // rounds up, flushes subnormals

inline StateWord read_state() {
    StateWord word = 0;
    asm volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
    return word;
}
inline void write_state(StateWord word) { asm volatile("msr fpcr, %0" : : "r"(word) : "memory"); }
#else  // only one state
using StateWord = unsigned;
inline constexpr StateWord kStateBits = 0, kHostile = 0;
inline StateWord read_state() { return 0; }
inline void write_state(StateWord) {}
#endif

class FloatingPointState {
public:
    explicit FloatingPointState(StateWord bits) : before_(read_state()) {
        write_state((before_ & ~kStateBits) | bits);
    }
    ~FloatingPointState() { write_state(before_); }
    FloatingPointState(const FloatingPointState&) = delete;
    FloatingPointState& operator=(const FloatingPointState&) = delete;

    /// The bits for rounding and flushing that are set now.
    static StateWord now() { return read_state() & kStateBits; }

private:
    StateWord before_;
};

}  // namespace tapestry::test
