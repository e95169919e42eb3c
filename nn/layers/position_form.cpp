#include <tapestry/nn/layers/position_form.h>

#include <tapestry/nn/module/factory_registry.h>

#include <utility>

namespace tapestry {
namespace {

FactoryRegistry<PositionFormFactory>& registered_position_forms() {
    static FactoryRegistry<PositionFormFactory> forms("positions", "register_position_form",
                                                      "none");
    return forms;
}

}  // namespace

void register_position_form(const std::string& name, PositionFormFactory factory) {
    registered_position_forms().add(name, std::move(factory));
}

PositionFormFactory position_form(const std::string& name) {
    return registered_position_forms().find(name);
}

std::vector<std::string> position_form_names() { return registered_position_forms().names(); }

}  // namespace tapestry
