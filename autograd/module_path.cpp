#include <tapestry/autograd/module_path.h>

#include <tapestry/autograd/tape.h>

#include <utility>

namespace tapestry {
namespace {

thread_local std::string path;

}  // namespace

ModuleScope::ModuleScope(std::string_view name) : outer_length_(path.size()) {
    if (!is_recording() || name.empty()) return;
    if (!path.empty()) path += '.';
    path += name;
}

ModuleScope::~ModuleScope() { path.resize(outer_length_); }

ModulePathGuard::ModulePathGuard(const std::string& replacement) {
    if (is_recording()) outer_ = std::exchange(path, replacement);
}

ModulePathGuard::~ModulePathGuard() {
    if (outer_) path = std::move(*outer_);
}

const std::string& module_path() { return path; }

}  // namespace tapestry
