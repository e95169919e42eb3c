// Switches between the fused and plain forms of ops.
//
// An op like layer_norm is one kernel that makes one pass over memory. The source also has the same
// function composed of elementary ops (mean, sub, square, ...), which takes several times as long
// and records every intermediate result on the tape, where it can be printed and inspected. With
// fusion off, by TAPESTRY_FUSE=0 or set_fusion(false), the plain forms run; results agree up to
// rounding.
//
// These ops have both forms: attention, batch_norm, cross_entropy, gelu, group_norm, layer_norm,
// linear, linear_cross_entropy, log_softmax, rms_norm, rotary, silu and softmax.
#pragma once

namespace tapestry {

/// True unless TAPESTRY_FUSE is 0 or set_fusion(false) was called. Throws ValueError if
/// TAPESTRY_FUSE is neither 0 nor 1.
bool fusion_enabled();

/// Turns fusion on or off for all threads.
void set_fusion(bool enabled);

/// Turns fusion on or off for a scope, then restores the earlier setting.
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
