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
//             return hooked(down(gelu(up(x))), x);  // [B, T, C]
//         }
//     };
//
// What is registered is found by name: "blocks.3.feed_forward.up.weight". The scope puts the same
// path on every entry of the tape; hooked() lets forward hooks see, and change, what comes out. A
// module stays where it was made (it is neither copied nor moved), so that members can be
// registered by address and assigned to later, to tie two weights.
// Read next: init.h, how parameters begin; freeze.h, training some of them.
#pragma once

#include <tapestry/autograd/op.h>
#include <tapestry/core/tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry::detail {

// NotCopied: a base for objects that stay where they were made, which compilers explain in a
// sentence. With a deleted constructor they would say that it is deleted, and std::vector<Layer>
// sixty lines.
template <class M>
constexpr auto refuse_copy() {
    static_assert(!sizeof(M),
                  "a module is neither copied nor moved, for its members are registered by "
                  "address: pass a reference, keep it in a std::unique_ptr or a std::deque");
    return 0;
}

/// The default argument and the deduced type are looked at where M is copied, so that the compiler
/// names that line, and not before: std::optional<M> and std::deque<M> are as good as ever.
template <class M>
class NotCopied {
protected:
    NotCopied() = default;
    NotCopied(const NotCopied&, int = refuse_copy<M>()) {}
    auto operator=(const NotCopied&) { refuse_copy<M>(); }
};

}  // namespace tapestry::detail

namespace tapestry {

/// Where a module stands among modules. It may outlive the module.
struct ModulePlace {
    std::string kind;
    std::string name;                           ///< in `parent`
    std::shared_ptr<const ModulePlace> parent;  ///< the module that contains it; null at the top
};

/// Where a parameter stands in a module. Its leaf keeps this, for optimisers to ask.
struct ParameterPlace {
    Tensor* tensor;  ///< the member; null once the module is gone
    std::string name;
    std::shared_ptr<const ModulePlace> module;

    std::string path() const;  ///< "blocks.3.feed_forward.up.weight"
};

/// Called with what a module was given and what it made of it. What it returns takes the place of
/// the output, unless undefined.
using ForwardHook =
    std::function<Tensor(const class Module& module, const Tensors& inputs, const Tensor& output)>;

/// What of a state did not find its counterpart in a module.
struct Unmatched {
    std::vector<std::string> missing;  ///< the module has it, the state does not
    std::vector<std::string> unknown;  ///< the state has it, the module does not
};

class Module : detail::NotCopied<Module> {
public:
    virtual ~Module();
    Module(const Module&) = default;
    Module& operator=(const Module&) = default;

    /// What kind of module it is: "Linear".
    const std::string& kind() const { return place_->kind; }
    /// What the module that contains this one calls it; empty at the top.
    const std::string& name() const { return place_->name; }
    /// The settings worth printing: "128 -> 512".
    virtual std::string settings() const { return {}; }

    /// All parameters with their dotted names, in order of registration, depth first. A tensor that
    /// two modules share is listed once, under its first name, unless duplicates are asked for.
    /// They are handles: to switch requires_grad off here is to freeze the module's parameter.
    NamedTensors named_parameters(bool remove_duplicate = true) const;
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

    /// Freezes the parameter of this name, those below the module of this name ("blocks.0"), or
    /// all: to the tapes they are constants, which cost no gradient, and optimisers made from now
    /// on leave them out. A tied weight is frozen under all its names. Throws ValueError, saying
    /// what there is, for a name of nothing. Read next: nn/module/freeze.h.
    void freeze(std::string_view prefix = "");
    void unfreeze(std::string_view prefix = "");
    /// PyTorch's name for unfreezing, or freezing, all of them.
    void requires_grad_(bool wanted = true) { wanted ? unfreeze() : freeze(); }

    /// Parameters, frozen ones included, and buffers under their dotted names, what two modules
    /// share once; in memory of their own (PyTorch's share it): what the module does later does not
    /// change them.
    NamedTensors state_dict() const;
    /// Writes them back where they stand: what holds the tensors, an optimiser or another module,
    /// sees the new numbers. Throws ValueError, and changes nothing, naming what is missing,
    /// unknown (unless not strict) or of another shape or dtype. Read next: nn/io/safetensors.h.
    Unmatched load_state_dict(const NamedTensors& state, bool strict = true);

    /// From now on, and until the result is dropped, `hook` is called after each call of this
    /// module, recorded or not; of several the one registered first is called first, and the next
    /// sees what it left. What the hook computes is recorded under the module's path.
    ///
    /// Modules call their hooks by returning hooked(output, inputs...), as all of the library do;
    /// of one with several outputs the first is the hook's. Attention to other sequences reads its
    /// projections' weights without calling them. Recomputation (recompute) calls hooks again.
    [[nodiscard]] std::shared_ptr<const void> register_forward_hook(ForwardHook hook);

    /// Converts all parameters and buffers to a floating type (DTypeError); gradients are
    /// forgotten, shared tensors stay shared. Handles taken before, an optimiser's say, are of the
    /// old tensors.
    void to(DType dtype);

    /// The modules as a tree with their settings and numbers of parameters.
    std::string summary() const;

protected:
    explicit Module(std::string kind);

    /// `parameter`, a member of this module, gets a name and asks for its gradient. An undefined
    /// tensor (no bias) is left out.
    void register_parameter(std::string name, Tensor& parameter);
    void register_buffer(std::string name, Tensor& buffer);
    void register_module(std::string name, Module& child);

    /// `output`, or what the hooks make of it. Without hooks, which is to say nearly always, a
    /// glance at an empty list.
    template <class... Inputs>
    Tensor hooked(Tensor output, const Inputs&... inputs) const {
        if (hooks_.empty()) [[likely]]
            return output;
        return run_hooks({inputs...}, std::move(output));
    }

private:
    using Place = std::shared_ptr<ParameterPlace>;
    using Visit = std::function<void(const std::string& path, const Place& place)>;
    void visit(const std::vector<Place> Module::*places, const std::string& path,
               const Visit& f) const;
    NamedTensors collect(const std::vector<Place> Module::*places, bool remove_duplicate) const;
    void summarise(int depth, std::string& text) const;
    void set_requires_grad(const char* function, std::string_view prefix, bool wanted);
    Tensor run_hooks(const Tensors& inputs, Tensor output) const;

    std::shared_ptr<ModulePlace> place_;
    bool training_ = true;
    std::vector<Place> parameters_;
    std::vector<Place> buffers_;
    std::vector<Module*> children_;
    std::vector<std::weak_ptr<const ForwardHook>> hooks_;  // whoever registered one owns it
};

// ---- what load_state_dict and files share -------------------------------------------------------

/// What Module::state_dict() gives out, but without copies: these are handles.
NamedTensors saved_tensors(const Module& module);

/// Tensors by name that are to go into a module: which goes where, and what is wrong with them. The
/// same for those in memory (Module::load_state_dict) and in a file (nn/io/safetensors.h).
struct Match {
    /// Nothing is changed. `what` has the tensors: "file".
    Match(const NamedTensors& stored, const Module& module, bool strict, const char* what);

    std::vector<std::pair<Tensor, Tensor>> pairs;  ///< from and to
    Unmatched unmatched;
    std::string flaws;  ///< why they do not fit, in words for an error; empty if they do
};

// ---- lists --------------------------------------------------------------------------------------

/// Modules of one kind, as many as are wanted, which the module that has them calls as it likes:
///
///     ModuleList<Linear> layers;  // a member
///     ...
///     register_module("layers", layers);
///     for (int i = 0; i < depth; ++i) layers.add(dim, dim, generator);
///     ...
///     for (const Linear& layer : layers) x = x + gelu(layer(x));
///
/// They are called "0", "1", "2": "layers.1.weight". Each is made in its place, for a module is
/// neither copied nor moved. ModuleList<> has modules of any kind, which add<Linear>(...) makes and
/// returns. Read next: nn/layers/sequential.h, which calls one after the other by itself.
template <class M = Module>
class ModuleList : public Module {
    static_assert(std::is_base_of_v<Module, M>, "ModuleList: it must be of Modules");

    template <class Reference>
    struct Iterator {
        const std::unique_ptr<M>* at;
        Reference operator*() const { return **at; }
        Iterator& operator++() {
            ++at;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };

public:
    ModuleList() : Module("ModuleList") {}

    /// Makes one at the end, an M or what is derived from it. It lives as long as this list.
    template <class Made = M, class... Arguments>
    Made& add(Arguments&&... arguments) {
        static_assert(std::is_base_of_v<M, Made>, "ModuleList::add: the list is of another kind");
        auto module = std::make_unique<Made>(std::forward<Arguments>(arguments)...);
        Made& added = *module;
        register_module(std::to_string(modules_.size()), added);
        modules_.push_back(std::move(module));
        return added;
    }

    std::size_t size() const { return modules_.size(); }
    bool empty() const { return modules_.empty(); }

    /// Throws IndexError.
    M& operator[](std::size_t i) { return *modules_[checked(i)]; }
    const M& operator[](std::size_t i) const { return *modules_[checked(i)]; }

    Iterator<M&> begin() { return {modules_.data()}; }
    Iterator<M&> end() { return {modules_.data() + modules_.size()}; }
    Iterator<const M&> begin() const { return {modules_.data()}; }
    Iterator<const M&> end() const { return {modules_.data() + modules_.size()}; }

private:
    std::size_t checked(std::size_t i) const {
        require<IndexError>(i < modules_.size(), "ModuleList: module {} of {}", i, modules_.size());
        return i;
    }

    std::vector<std::unique_ptr<M>> modules_;
};

}  // namespace tapestry

/// "{}": the summary.
template <>
struct fmt::formatter<tapestry::Module> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Module& module, fmt::format_context& context) const;
};
