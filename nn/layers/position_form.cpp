#include <tapestry/nn/layers/position_form.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

std::vector<std::pair<std::string, PositionFormFactory>>& registered_position_forms() {
    static std::vector<std::pair<std::string, PositionFormFactory>> forms{{"none", {}}};
    return forms;
}

}  // namespace

void register_position_form(const std::string& name, PositionFormFactory factory) {
    require(!name.empty(), "register_position_form: the name is empty");
    require(factory != nullptr, "register_position_form: {} has no factory", utf8::quoted(name));
    const auto names = position_form_names();
    require(std::find(names.begin(), names.end(), name) == names.end(),
            "register_position_form: the name {} is taken", utf8::quoted(name));
    registered_position_forms().emplace_back(name, std::move(factory));
}

PositionFormFactory position_form(const std::string& name) {
    std::string known;
    for (const auto& [other, factory] : registered_position_forms()) {
        if (other == name) return factory;
        known += (known.empty() ? "" : ", ") + other;
    }
    fail("positions: no form {} is registered; there are {}", utf8::quoted(name), known);
}

std::vector<std::string> position_form_names() {
    std::vector<std::string> names;
    for (const auto& [name, factory] : registered_position_forms()) names.push_back(name);
    return names;
}

}  // namespace tapestry
