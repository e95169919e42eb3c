// Module: named parameters, and the modules it is made of.
//
//     class FeedForward : public Module {
//     public:
//         Linear up, down;
//         explicit FeedForward(std::int64_t dim) : Module("FeedForward"), up(dim, 4 * dim), ... {
//             register_module("up", up);
//             register_module("down", down);
//         }
//         Tensor operator()(const Tensor& x) const {
//             const ModuleScope scope(name());
//             return down(gelu(up(x)));           // [B, T, C]
//         }
//     };
//
// What is registered is found by name: "blocks.3.feed_forward.up.weight". The scope puts the same
// path on every entry of the tape. A module stays where it was made (it is neither copied nor
// moved), so that members can be registered by address and assigned to later, to tie two weights.
#pragma once

#include <tapestry/autograd/module_path.h>
#include <tapestry/core/tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

class Module {
public:
    virtual ~Module() = default;
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// What kind of module it is: "Linear".
    const std::string& kind() const { return kind_; }
    /// What the module that contains this one calls it; empty at the top.
    const std::string& name() const { return name_; }
    /// The settings worth printing: "128 -> 512".
    virtual std::string settings() const { return {}; }

    /// All parameters with their dotted names, in order of registration, depth first. A tensor that
    /// two modules share is listed once, under its first name.
    NamedTensors named_parameters() const;
    Tensors parameters() const;
    /// Tensors that belong to the model but are not trained.
    NamedTensors named_buffers() const;
    /// Numbers in all parameters together.
    std::int64_t parameter_count() const;

    /// Training mode turns dropout on, evaluation mode off; a module starts in training mode.
    void train(bool on = true);
    void eval() { train(false); }
    bool is_training() const { return training_; }

    /// Calls f on every module inside, depth first, and on this one last.
    void apply(const std::function<void(Module&)>& f);

    /// Forgets the gradients of all parameters.
    void zero_grad();

    /// Converts all parameters and buffers to f32 or f64 (DTypeError); gradients are forgotten,
    /// shared tensors stay shared. Handles taken before, an optimiser's say, are of the old
    /// tensors.
    void to(DType dtype);

    /// The modules as a tree with their settings and numbers of parameters.
    std::string summary() const;

protected:
    explicit Module(std::string kind) : kind_(std::move(kind)) {}

    /// `parameter`, a member of this module, gets a name and asks for its gradient. An undefined
    /// tensor (no bias) is left out.
    void register_parameter(std::string name, Tensor& parameter);
    void register_buffer(std::string name, Tensor& buffer);
    void register_module(std::string name, Module& child);

private:
    using Visit = std::function<void(const std::string& path, Tensor& tensor)>;
    void visit_tensors(const std::string& path, bool parameters, const Visit& visit) const;
    NamedTensors collect(bool parameters) const;
    void summarise(int depth, std::string& text) const;

    std::string kind_;
    std::string name_;
    bool training_ = true;
    std::vector<std::pair<std::string, Tensor*>> parameters_;
    std::vector<std::pair<std::string, Tensor*>> buffers_;
    std::vector<Module*> children_;
};

}  // namespace tapestry

/// "{}": the summary.
template <>
struct fmt::formatter<tapestry::Module> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Module& module, fmt::format_context& context) const;
};
