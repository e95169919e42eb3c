// Fused or plain: which form of an op runs.
//
// An op like layer_norm is one kernel that goes over memory once. The same function written in
// elementary ops (mean, sub, square, ...) stands beside it in the source, takes several times as
// long, and puts every intermediate result on the tape, to be printed and looked at. With fusion
// off, by TAPESTRY_FUSE=0 or here, the plain forms run; the numbers are equal up to rounding.
//
// Two forms have attention, batch_norm, cross_entropy, gelu, group_norm, layer_norm, linear,
// log_softmax, rms_norm, rotary, silu and softmax.
#pragma once

namespace tapestry {

/// True unless TAPESTRY_FUSE is 0 or set_fusion(false) was called. Throws ValueError for a
/// TAPESTRY_FUSE that is neither 0 nor 1.
bool fusion_enabled();

/// For all threads.
void set_fusion(bool enabled);

/// Fusion on or off until this leaves scope; then as before.
class FusionGuard {
public:
    /// `enabled`: whether fused forms run.
    explicit FusionGuard(bool enabled) : before_(fusion_enabled()) { set_fusion(enabled); }
    ~FusionGuard() { set_fusion(before_); }
    FusionGuard(const FusionGuard&) = delete;
    FusionGuard& operator=(const FusionGuard&) = delete;

private:
    bool before_;
};

}  // namespace tapestry
