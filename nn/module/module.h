// Module: named parameters and submodules.
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
// Everything registered has a dotted name: "blocks.3.feed_forward.up.weight". The scope puts the
// same path on every entry of the tape; hooked() lets forward hooks see and change the output. A
// module stays at its address (it can be neither copied nor moved), so members can be registered by
// address and assigned later, for instance to tie two weights.
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

// NonCopyable: a base for objects that must stay at their address, with a one-sentence compiler
// error. With a deleted constructor, compilers would only report that it is deleted, and for
// std::vector<Layer> in sixty lines.
template <class M>
constexpr auto refuse_copy() {
    static_assert(!sizeof(M),
                  "a module is neither copied nor moved, because its members are registered by "
                  "address: pass a reference, keep it in a std::unique_ptr or a std::deque");
    return 0;
}

/// The default argument and the deduced type are only instantiated where M is copied, so the
/// compiler names that line, and std::optional<M> and std::deque<M> still work.
template <class M>
class NonCopyable {
protected:
    NonCopyable() = default;
    NonCopyable(const NonCopyable&, int = refuse_copy<M>()) {}
    auto operator=(const NonCopyable&) { refuse_copy<M>(); }
};

}  // namespace tapestry::detail

namespace tapestry {

/// A module's position in the module tree. May outlive the module.
struct ModulePlace {
    std::string kind;                           ///< "Linear"
    std::string name;                           ///< in `parent`
    std::shared_ptr<const ModulePlace> parent;  ///< the containing module; null at the top
    class Module* module = nullptr;             ///< null once the module is gone
};

/// A parameter's position in a module. Its leaf keeps this, for optimisers.
struct ParameterPlace {
    Tensor* tensor;                             ///< the member; null once the module is gone
    std::string name;                           ///< "weight"
    std::shared_ptr<const ModulePlace> module;  ///< place of the module that has it

    std::string path() const;  ///< "blocks.3.feed_forward.up.weight"
};

/// Called with a module's inputs and output. The result replaces the output unless it is undefined.
using ForwardHook =
    std::function<Tensor(const class Module& module, const Tensors& inputs, const Tensor& output)>;

/// Keys that load_state_dict() could not match.
struct Unmatched {
    std::vector<std::string> missing;  ///< in the module, not in the state
    std::vector<std::string> unknown;  ///< in the state, not in the module
};

/// The base of everything that has parameters: named parameters, buffers and submodules. See above
/// for how to write one.
class Module : detail::NonCopyable<Module> {
public:
    virtual ~Module();
    Module(const Module&) = default;
    Module& operator=(const Module&) = default;

    /// The kind of module: "Linear".
    const std::string& kind() const { return place_->kind; }
    /// Its name in the containing module; empty at the top.
    const std::string& name() const { return place_->name; }
    /// Settings for printing: "128 -> 512".
    virtual std::string settings() const { return {}; }

    /// All parameters with their dotted names, in order of registration, depth first. A tensor
    /// shared by two modules is listed once, under its first name, unless remove_duplicate is
    /// false. They are handles: turning off requires_grad on one freezes the module's parameter.
    NamedTensors named_parameters(bool remove_duplicate = true) const;
    /// The same without names.
    Tensors parameters() const;
    /// Tensors that belong to the model but are not trained.
    NamedTensors named_buffers() const;
    /// Total number of elements in all parameters.
    std::int64_t parameter_count() const;

    /// Training mode turns dropout on, evaluation mode turns it off; modules start in training
    /// mode.
    void train(bool on = true);
    /// Turns training mode off.
    void eval() { train(false); }
    bool is_training() const { return training_; }  ///< whether it is in training mode

    /// Calls f on every submodule, depth first, and on this one last.
    void apply(const std::function<void(Module&)>& f);

    /// Clears the gradients of all parameters.
    void zero_grad();

    /// Freezes the parameter of this name, those below the module of this name ("blocks.0"), or
    /// all: tapes treat them as constants, which need no gradient, and optimisers created from now
    /// on skip them. A tied weight is frozen under all its names. Throws ValueError, listing the
    /// existing names, for a name that matches nothing. Read next: nn/module/freeze.h.
    void freeze(std::string_view prefix = "");
    /// Undoes freeze(), by the same rules for names.
    void unfreeze(std::string_view prefix = "");
    /// PyTorch's name for unfreezing or freezing everything.
    void requires_grad_(bool wanted = true) { wanted ? unfreeze() : freeze(); }

    /// Copies of all parameters, frozen ones included, and buffers under their dotted names, shared
    /// ones once. Later changes to the module do not affect them (PyTorch's share the module's
    /// memory).
    NamedTensors state_dict() const;
    /// Copies the values back in place, so other holders of the tensors, such as an optimiser or
    /// another module, see them. Throws ValueError, and changes nothing, naming the tensors that
    /// are missing, unknown (unless strict is false) or of another shape or dtype. Read next:
    /// nn/io/safetensors.h.
    Unmatched load_state_dict(const NamedTensors& state, bool strict = true);

    /// Calls `hook` after each call of this module, recorded or not, until the returned handle is
    /// dropped. Several hooks run in order of registration, each on the output of the previous
    /// hook. The hook's computation is recorded under the module's path.
    ///
    /// A module calls its hooks by returning hooked(output, inputs...), as all of the library's do;
    /// if it has several outputs, hooks get the first. Cross-attention reads the weights of its
    /// projections without calling them. Recomputation (recompute) calls hooks again.
    [[nodiscard]] std::shared_ptr<const void> register_forward_hook(ForwardHook hook);

    /// Whether a hook is registered on this module.
    bool is_hooked() const;

    /// Converts all parameters and buffers to a floating-point type (else DTypeError). Clears
    /// gradients; shared tensors stay shared. Handles taken before, for instance by an optimiser,
    /// refer to the old tensors.
    void to(DType dtype);
    /// The op of the same name (ops/cast.h), which the function above would hide in a module.
    static Tensor to(const Tensor& x, DType dtype);

    /// The module tree with settings and parameter counts.
    std::string summary() const;

protected:
    /// `kind`: "Linear", the class's name.
    explicit Module(std::string kind);

    /// Names `parameter`, a member of this module, and turns on its requires_grad. Skips an
    /// undefined tensor (no bias).
    void register_parameter(std::string name, Tensor& parameter);
    /// Names `buffer`, a member of this module: saved with it, but not trained.
    void register_buffer(std::string name, Tensor& buffer);
    /// Names `child`, a member of this module. It takes the place of a module registered under this
    /// name before. Once a registered module is destroyed, and until another has its name, all that
    /// visits the submodules throws Error.
    void register_module(std::string name, Module& child);

    /// Returns `output`, or what the hooks make of it. Without hooks, the usual case, only checks
    /// for an empty list.
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
    Module& alive(const std::shared_ptr<ModulePlace>& child) const;
    void summarise(int depth, std::string& text) const;
    void set_requires_grad(const char* function, std::string_view prefix, bool wanted);
    Tensor run_hooks(const Tensors& inputs, Tensor output) const;

    std::shared_ptr<ModulePlace> place_;
    bool training_ = true;
    std::vector<Place> parameters_;
    std::vector<Place> buffers_;
    std::vector<std::shared_ptr<ModulePlace>> children_;
    std::vector<std::weak_ptr<const ForwardHook>> hooks_;  // each owned by its registrant

    template <class M>
    friend class Submodule;
};

// ---- what load_state_dict and files share -------------------------------------------------------

/// The tensors of Module::state_dict() as handles, without copies.
NamedTensors saved_tensors(const Module& module);

/// Matches tensors by name with those of a module, and describes what does not fit. Used for
/// tensors in memory (Module::load_state_dict) and in a file (nn/io/safetensors.h).
struct Match {
    /// Changes nothing. `what` names the source of the tensors: "file".
    Match(const NamedTensors& stored, const Module& module, bool strict, const char* what);

    std::vector<std::pair<Tensor, Tensor>> pairs;  ///< from and to
    Unmatched unmatched;                           ///< names without a partner
    std::string flaws;  ///< error text on what does not fit; empty if all does
};

// ---- modules held by pointer --------------------------------------------------------------------

/// A submodule that can be replaced, as in
///     gpt.blocks.layers[0] = std::make_unique<TransformerBlock>(config);
/// The new one is registered under the name of the old one and gets the owner's training mode.
/// Create optimisers afterwards, because they hold the parameters that they were given.
template <class M>
class Submodule {
public:
    /// Registers `module`, which must not be null, in `owner`, of which this must be a member.
    Submodule(Module& owner, std::string name, std::unique_ptr<M> module)
        : owner_(&owner), name_(std::move(name)) {
        set(std::move(module));
    }
    Submodule(Submodule&&) = default;
    Submodule& operator=(Submodule&&) = delete;
    /// Replaces the module. Throws ValueError for a null pointer.
    Submodule& operator=(std::unique_ptr<M> module) {
        set(std::move(module));
        module_->train(owner_->is_training());
        return *this;
    }

    M& operator*() const { return *module_; }        ///< the module
    M* operator->() const { return module_.get(); }  ///< the module
    M* get() const { return module_.get(); }         ///< never null

private:
    void set(std::unique_ptr<M> module) {
        require(module != nullptr, "{}: its module \"{}\" cannot be null", owner_->kind(), name_);
        module_ = std::move(module);  // destroys the old one, whose name is free then
        owner_->register_module(name_, *module_);
    }

    Module* owner_;
    std::string name_;
    std::unique_ptr<M> module_;
};

// ---- lists --------------------------------------------------------------------------------------

/// A list of modules of one kind; its owner calls them as it likes:
///
///     ModuleList<Linear> layers;  // a member
///     ...
///     register_module("layers", layers);
///     for (int i = 0; i < depth; ++i) layers.add(dim, dim, generator);
///     ...
///     for (const Linear& layer : layers) x = x + gelu(layer(x));
///
/// Their names are "0", "1", "2": "layers.1.weight". Each is constructed in place, because modules
/// can be neither copied nor moved. ModuleList<> holds modules of any kind, which add<Linear>(...)
/// constructs and returns. Read next: nn/layers/sequential.h, which calls its modules one after
/// another.
template <class M = Module>
class ModuleList : public Module {
    static_assert(std::is_base_of_v<Module, M>, "ModuleList: the elements must be Modules");

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

    /// Constructs an M, or a type derived from it, at the end. It lives as long as the list.
    template <class Made = M, class... Arguments>
    Made& add(Arguments&&... arguments) {
        static_assert(std::is_base_of_v<M, Made>, "ModuleList::add: the list holds another type");
        auto module = std::make_unique<Made>(std::forward<Arguments>(arguments)...);
        Made& added = *module;
        register_module(std::to_string(modules_.size()), added);
        modules_.push_back(std::move(module));
        return added;
    }

    /// Constructs an M, or a type derived from it, in the place of module i. Throws IndexError.
    template <class Made = M, class... Arguments>
    Made& replace(std::size_t i, Arguments&&... arguments) {
        static_assert(std::is_base_of_v<M, Made>, "ModuleList::replace: it holds another type");
        auto module = std::make_unique<Made>(std::forward<Arguments>(arguments)...);
        Made& made = *module;
        made.train(is_training());
        modules_[checked(i)] = std::move(module);  // destroys the old one, whose name is free then
        register_module(std::to_string(i), made);
        return made;
    }

    std::size_t size() const { return modules_.size(); }  ///< number of modules
    bool empty() const { return modules_.empty(); }       ///< whether there is none

    /// Throws IndexError.
    M& operator[](std::size_t i) { return *modules_[checked(i)]; }
    const M& operator[](std::size_t i) const { return *modules_[checked(i)]; }

    Iterator<M&> begin() { return {modules_.data()}; }                  ///< the first module
    Iterator<M&> end() { return {modules_.data() + modules_.size()}; }  ///< beyond the last module
    Iterator<const M&> begin() const { return {modules_.data()}; }      ///< the first module
    /// Beyond the last module.
    Iterator<const M&> end() const { return {modules_.data() + modules_.size()}; }

private:
    std::size_t checked(std::size_t i) const {
        require<IndexError>(i < modules_.size(), "ModuleList: module {} of {}", i, modules_.size());
        return i;
    }

    std::vector<std::unique_ptr<M>> modules_;
};

}  // namespace tapestry

/// "{}" formats the summary.
template <>
struct fmt::formatter<tapestry::Module> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Module& module, fmt::format_context& context) const;
};
