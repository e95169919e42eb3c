#include <tapestry/autograd/check/format.h>

#include <tapestry/core/half.h>

namespace tapestry {

std::string_view to_string(Format format) {
    switch (format) {
        case Format::f64: return "f64";
        case Format::f32: return "f32";
        case Format::bf16: return "bf16";
        case Format::f16: return "f16";
    }
    return {};
}

double rounded(Format format, double x) {
    switch (format) {
        case Format::f64: break;
        case Format::f32: return static_cast<float>(x);
        case Format::bf16: return rounded_to_bf16(x);
        case Format::f16: return rounded_to_f16(x);
    }
    return x;
}

double epsilon(Format format) {
    switch (format) {
        case Format::f64: return 0x1p-52;
        case Format::f32: return 0x1p-23;
        case Format::bf16: return 0x1p-7;
        case Format::f16: return 0x1p-10;
    }
    return 0;
}

}  // namespace tapestry
