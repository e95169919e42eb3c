#include <tapestry/nn/layers/kept_weights.h>

#include <tapestry/nn/layers/linear.h>

namespace tapestry {

void keep_weights(Module& model, WeightType type) {
    switch (type) {
        case WeightType::f32: return;
        case WeightType::bf16: return model.to(DType::bf16);
        case WeightType::int8:
            model.apply([](Module& module) {
                if (auto* const layer = dynamic_cast<Linear*>(&module)) layer->keep_int8();
            });
    }
}

}  // namespace tapestry
