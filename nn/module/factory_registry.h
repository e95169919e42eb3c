// Factories of modules that a program registers by name, for configurations to name: forms of
// attention, encodings of positions. Internal to nn.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// Factories by name, in order of registration. The first is the default, an empty factory.
template <class Factory>
class FactoryRegistry {
public:
    /// For messages: `subject` is what the forms are of ("attention"), `function` the one that
    /// users register with.
    FactoryRegistry(const char* subject, const char* function, const char* usual)
        : subject_(subject), function_(function), rows_{{usual, {}}} {}

    /// Throws ValueError for a name that is empty, taken or `reserved`, and for no factory.
    void add(const std::string& name, Factory factory, bool reserved = false) {
        require(!name.empty(), "{}: the name is empty", function_);
        require(factory != nullptr, "{}: {} has no factory", function_, utf8::quoted(name));
        const bool taken = std::any_of(rows_.begin(), rows_.end(),
                                       [&](const auto& row) { return row.first == name; });
        require(!reserved && !taken, "{}: the name {} is taken", function_, utf8::quoted(name));
        rows_.emplace_back(name, std::move(factory));
    }

    /// Throws ValueError, listing the names, for any other.
    Factory find(const std::string& name) const {
        std::string known;
        for (const auto& [other, factory] : rows_) {
            if (other == name) return factory;
            known += (known.empty() ? "" : ", ") + other;
        }
        fail("{}: no form {} is registered; there are {}", subject_, utf8::quoted(name), known);
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, factory] : rows_) all.push_back(name);
        return all;
    }

private:
    const char* subject_;
    const char* function_;
    std::vector<std::pair<std::string, Factory>> rows_;
};

}  // namespace tapestry
