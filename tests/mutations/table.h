// Figures with their bounds.
#pragma once

#include <fmt/core.h>

#include <string>

namespace tapestry::test {

class Table {
public:
    void row(const std::string& what, double figure, const std::string& detail, bool holds,
             const std::string& must) {
        all_hold_ = all_hold_ && holds;
        fmt::print("{:<62} {:>8.2f} {:<24} must be {:<12} {}\n", what, figure, detail, must,
                   holds ? "" : "NO");
    }
    bool all_hold() const { return all_hold_; }

private:
    bool all_hold_ = true;
};

inline std::string of(int part, int whole) { return fmt::format("% ({} of {})", part, whole); }

inline double percent(int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

}  // namespace tapestry::test
