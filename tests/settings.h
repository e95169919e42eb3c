// Tests that set threads or the instruction set put them back, whatever they throw.
#pragma once

#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>

namespace tapestry::test {

class SettingsGuard {
public:
    SettingsGuard() : isa_(current_isa()), threads_(num_threads()) {}
    ~SettingsGuard() {
        set_isa(isa_);
        set_num_threads(threads_);
    }
    SettingsGuard(const SettingsGuard&) = delete;
    SettingsGuard& operator=(const SettingsGuard&) = delete;

private:
    Isa isa_;
    int threads_;
};

}  // namespace tapestry::test
