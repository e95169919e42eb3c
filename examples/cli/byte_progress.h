// How far a file of any size has been read: one line, rewritten in place on a terminal, and nothing
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tapestry::cli {

/// Thrown by show after an interrupt; what was being written is removed on the way.
struct Interrupted {};

class ByteProgress {
public:
    ByteProgress();
    ~ByteProgress() { finish(); }
    ByteProgress(const ByteProgress&) = delete;
    ByteProgress& operator=(const ByteProgress&) = delete;

    /// What is done from now on: "encoding".
    void begin(const std::string& what);
    void show(std::uint64_t done, std::uint64_t all);
    /// Ends the line.
    void finish();

    double seconds() const;  ///< since begin

private:
    using Clock = std::chrono::steady_clock;

    std::string what_;
    bool terminal_;
    bool open_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point shown_ = start_;
};

}  // namespace tapestry::cli
