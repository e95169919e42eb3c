// A trained model's weights in fewer bits, for writing with it: where one token at a time is
// computed, memory sets the pace, and half or a quarter of the bytes take little more than half or
// a quarter of the time.
//
//     keep_weights(*loaded.model, WeightType::int8);
//     sample(*loaded.model, ...);
#pragma once

#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/module/module.h>

namespace tapestry {

enum class WeightType { f32, bf16, int8 };

template <>
struct NamesOf<WeightType> {
    static constexpr EnumNames<WeightType, 3> list{
        {{WeightType::f32, "f32"}, {WeightType::bf16, "bf16"}, {WeightType::int8, "int8"}}};
};

/// bf16: all parameters and buffers, and with them what is computed (Module::to). int8: the
/// matrices of linear layers (Linear::keep_int8), which then compute forward alone; all else, and
/// what is computed, stays f32. f32: nothing. Throws as those do.
void keep_weights(Module& model, WeightType type);

}  // namespace tapestry
