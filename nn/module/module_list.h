// Modules of one kind, as many as are wanted, which the module that has them calls as it likes:
//
//     ModuleList<Linear> layers;  // a member
//     ...
//     register_module("layers", layers);
//     for (int i = 0; i < depth; ++i) layers.add(dim, dim, generator);
//     ...
//     for (const Linear& layer : layers) x = x + gelu(layer(x));
//
// They are called "0", "1", "2": "layers.1.weight". Each is made in its place, for a module is
// neither copied nor moved. ModuleList<> has modules of any kind, which add<Linear>(...) makes and
// returns. Read next: sequential.h, which calls one after the other by itself.
#pragma once

#include <tapestry/nn/module/module.h>

#include <type_traits>

namespace tapestry {

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
