// A chain of modules:
//
//     Sequential network;
//     network.add<Linear>(1, 32);
//     network.add<SiLU>();
//     network.add<Linear>(32, 1);
//     const Tensor y = network(x);        // [N, 1] -> [N, 1]
//
// Their names are "0", "1", "2", as PyTorch's. Each is constructed in place, because modules can be
// neither copied nor moved, and in the order of the add() calls, which is the order in which they
// draw from their generator.
#pragma once

#include <tapestry/nn/module/module.h>

#include <type_traits>

namespace tapestry {

/// f_n(... f_1(f_0(x))); without modules, x.
class Sequential : public Module {
public:
    Sequential() : Module("Sequential") {}

    /// Constructs an M at the end, a module that takes a tensor and returns one. It lives as long
    /// as the chain.
    template <class M, class... Arguments>
    M& add(Arguments&&... arguments) {
        static_assert(std::is_base_of_v<Module, M>, "Sequential::add: it must be a Module");
        static_assert(std::is_invocable_r_v<Tensor, const M&, const Tensor&>,
                      "Sequential::add: the module must take a Tensor and return one");
        auto module = std::make_unique<M>(std::forward<Arguments>(arguments)...);
        M& added = *module;
        append(std::move(module), [&added](const Tensor& x) -> Tensor { return added(x); });
        return added;
    }

    /// Calls the modules one after another, each on the result of the last.
    Tensor operator()(const Tensor& x) const;

    std::size_t size() const { return steps_.size(); }  ///< number of modules
    /// Throws IndexError.
    Module& operator[](std::size_t i) const;

private:
    using Call = std::function<Tensor(const Tensor&)>;
    struct Step {
        std::unique_ptr<Module> module;
        Call call;
    };
    void append(std::unique_ptr<Module> module, Call call);

    std::vector<Step> steps_;
};

}  // namespace tapestry
