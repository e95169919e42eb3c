// Guards that restore the number of threads and the instruction set after a test, even if it
// throws.
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
