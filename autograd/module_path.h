// Where in a model we are: "blocks.3.attention.query". Each recorded op takes the path along.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapestry {

/// Appends `name` to this thread's path until it leaves scope. Free when no tape records.
class ModuleScope {
public:
    explicit ModuleScope(std::string_view name);
    ~ModuleScope();
    ModuleScope(const ModuleScope&) = delete;
    ModuleScope& operator=(const ModuleScope&) = delete;

private:
    std::size_t outer_length_;
};

/// Replaces this thread's path until it leaves scope: what backward records stands under the path
/// of the op that it walks through, wherever backward was called.
class ModulePathGuard {
public:
    explicit ModulePathGuard(std::string_view path);
    ~ModulePathGuard();
    ModulePathGuard(const ModulePathGuard&) = delete;
    ModulePathGuard& operator=(const ModulePathGuard&) = delete;

private:
    std::optional<std::string> outer_;
};

const std::string& module_path();

}  // namespace tapestry
