// Sets the thread's floating-point state as another library might, until it leaves scope.
#pragma once

#include <cstdint>

namespace tapestry::test {

#if defined(__x86_64__)
inline constexpr unsigned kHostile = 0xC040;  // MXCSR: rounds up, flushes results and operands

class FloatingPointState {
public:
    explicit FloatingPointState(unsigned bits) : before_(read()) {
        write((before_ & ~kAll) | bits);
    }
    ~FloatingPointState() { write(before_); }
    FloatingPointState(const FloatingPointState&) = delete;
    FloatingPointState& operator=(const FloatingPointState&) = delete;

    /// The bits for rounding and flushing that are set now.
    static unsigned now() { return read() & kAll; }

private:
    static constexpr unsigned kAll = 0xE040;
    static unsigned read() {
        unsigned word = 0;
        asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
        return word;
    }
    static void write(unsigned word) { asm volatile("ldmxcsr %0" : : "m"(word) : "memory"); }

    unsigned before_;
};
#elif defined(__aarch64__)
inline constexpr unsigned kHostile = 0x1400000;  // FPCR: rounds up, flushes subnormals

class FloatingPointState {
public:
    explicit FloatingPointState(unsigned bits) : before_(read()) {
        write((before_ & ~kAll) | bits);
    }
    ~FloatingPointState() { write(before_); }
    FloatingPointState(const FloatingPointState&) = delete;
    FloatingPointState& operator=(const FloatingPointState&) = delete;

    static unsigned now() { return static_cast<unsigned>(read() & kAll); }

private:
    static constexpr std::uint64_t kAll = 0x1C00000;
    static std::uint64_t read() {
        std::uint64_t word = 0;
        asm volatile("mrs %0, fpcr" : "=r"(word) : : "memory");
        return word;
    }
    static void write(std::uint64_t word) { asm volatile("msr fpcr, %0" : : "r"(word) : "memory"); }

    std::uint64_t before_;
};
#else  // only one state
inline constexpr unsigned kHostile = 0;
struct FloatingPointState {
    explicit FloatingPointState(unsigned) {}
    static unsigned now() { return 0; }
};
#endif

}  // namespace tapestry::test
