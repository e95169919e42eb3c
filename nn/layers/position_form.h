// PositionForm: an encoding of positions of your own, added to a GPT by its name:
//
//     register_position_form("ramp", [](std::int64_t count, std::int64_t dim, Generator&) {
//         return std::make_unique<Ramp>(count, dim);
//     });
//     GPT model({.vocab = 65, .positions = Positions::none, .position_form = "ramp"});
//
// Read next: embedding.h, the encodings that the library has; nn/attention/attention_form.h, for
// positions that act inside attention.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/module/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// Encodes the positions of tokens in their vectors. Derive from this to define your own; it may
/// have parameters.
class PositionForm : public Module {
public:
    /// x [B, T, C] -> [B, T, C], where x_t is at position first + t. A sample asks for one position
    /// after the other, so the result at a position must not depend on T.
    virtual Tensor operator()(const Tensor& x, std::int64_t first) const = 0;

protected:
    using Module::Module;
};

/// Creates the form of one model, for `count` positions (GPTConfig::context) of vectors of width
/// `dim`; random parameters are drawn from the generator.
using PositionFormFactory = std::function<std::unique_ptr<PositionForm>(
    std::int64_t count, std::int64_t dim, Generator& generator)>;

/// Gives a form a name that configurations can have (GPTConfig::position_form). Checkpoints and
/// model directories store the name, and loading them finds the form. Call it at the start of every
/// program that uses such models, before there are other threads. Throws ValueError for a name that
/// is empty or taken, and for no factory.
void register_position_form(const std::string& name, PositionFormFactory factory);

/// The registered form; empty for "none", the default. Throws ValueError, listing the names, for
/// any other.
PositionFormFactory position_form(const std::string& name);

/// "none" and the registered names, in order of registration.
std::vector<std::string> position_form_names();

}  // namespace tapestry
