// Tensors whose random numbers nobody would see, because they are overwritten next: the weights of
// a model that is about to be read from a file. Internal to Tapestry.
//
//     const SkipDrawing skip;
//     auto model = make_model(config);  // its weights are uninitialised
//     load_weights(files, *model);      // all of them, or it throws
#pragma once

namespace tapestry {

/// While this lives, functions of core/random.h called on this thread leave their tensors
/// uninitialised. Generators advance as if they had been filled, so what is drawn later does not
/// change.
class SkipDrawing {
public:
    SkipDrawing() : outer_(active_) { active_ = true; }
    ~SkipDrawing() { active_ = outer_; }
    SkipDrawing(const SkipDrawing&) = delete;
    SkipDrawing& operator=(const SkipDrawing&) = delete;

    /// Whether there is one on this thread.
    static bool active() { return active_; }

private:
    static inline thread_local bool active_ = false;
    bool outer_;
};

}  // namespace tapestry
