#include <tapestry/autograd/module_path.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/thread_exit.h>

#include <utility>

namespace tapestry {
namespace {

std::string& current() {
    static thread_local std::string* path = nullptr;
    return of_this_thread(path);
}

}  // namespace

ModuleScope::ModuleScope(std::string_view name) : outer_length_(current().size()) {
    if (!is_recording() || name.empty()) return;
    if (!current().empty()) current() += '.';
    current() += name;
}

ModuleScope::~ModuleScope() { current().resize(outer_length_); }

ModulePathGuard::ModulePathGuard(std::string_view replacement) {
    if (is_recording()) outer_ = std::exchange(current(), std::string(replacement));
}

ModulePathGuard::~ModulePathGuard() {
    if (outer_) current() = std::move(*outer_);
}

const std::string& module_path() { return current(); }

}  // namespace tapestry
