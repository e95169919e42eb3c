// -std=c++20
// a module is neither copied nor moved, because its members are registered by address
#include <tapestry/nn/module/module.h>
struct Layer : tapestry::Module {
    Layer() : Module("Layer") {}
};
void assign(Layer& to, Layer& from) { to = from; }
