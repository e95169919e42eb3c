#include <tapestry/nn/data_parallel/optimizer_slice.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/optim/optimizer_registry.h>

#include <algorithm>
#include <string_view>

namespace tapestry {
namespace {

std::string moment_name(const std::string& moment, const std::string& parameter) {
    return fmt::format("{}.{}", moment, parameter);
}
std::string steps_name(const std::string& parameter) { return "steps." + parameter; }

// A parameter has a part in every bucket that it reaches into.
std::string part_name(const std::string& parameter, const FlatParameters::Part& part) {
    return fmt::format("{}[{}]", parameter, part.own.begin);
}

Tensor find(const OptimizerState& state, std::string_view name) {
    for (const auto& [key, tensor] : state.tensors) {
        if (key == name) return tensor;
    }
    return {};
}

Tensor part_of(const Tensor& x, Range own) {
    return views::slice(views::reshape(x, {x.numel()}), 0, own.begin, own.end);
}

}  // namespace

bool OptimizerSlice::is_for(const Optimizer& optimizer) {
    const OptimizerRow* const row = find_row(optimizer);
    return row != nullptr && row->elementwise;
}

OptimizerSlice::OptimizerSlice(Optimizer& whole, const FlatParameters& flat, int rank)
    : flat_(flat), parts_(flat.parts(rank)), begun_(whole.shared_state()) {
    require(is_for(whole),
            "data parallel: {} does not step element by element, so it cannot be cut into slices",
            begun_.kind);
    const OptimizerRow& row = *find_row(whole);
    moments_ = row.moments(begun_.settings);
    for (const auto& group : begun_.groups) {
        names_.insert(names_.end(), group.parameters.begin(), group.parameters.end());
    }
    const Tensors parameters = whole.parameters();
    for (const FlatParameters::Part& part : parts_) {
        views_.push_back(part_of(parameters[part.parameter], part.own).set_requires_grad());
    }
    if (!parts_.empty()) {
        const OptimizerState own = cut(begun_);
        optimizer_ = row.make_for(groups(own));
        optimizer_->load_state(own);
        optimizer_->set_parts(origins(own));
    }
    begun_ = without_moments(0);
    OptimizerState empty = begun_;
    for (auto& [name, steps] : empty.tensors) steps = tensor(std::vector<std::int64_t>{0}, {});
    whole.load_state(empty);
}

// The state of the same optimiser, for the parts only.
OptimizerState OptimizerSlice::cut(const OptimizerState& whole) const {
    OptimizerState own = whole;
    own.tensors.clear();
    for (auto& group : own.groups) {
        std::vector<std::string> names;
        for (const std::string& name : group.parameters) {
            for (const FlatParameters::Part& part : parts_) {
                if (names_[part.parameter] == name) names.push_back(part_name(name, part));
            }
        }
        group.parameters = std::move(names);
    }
    for (const FlatParameters::Part& part : parts_) {
        const std::string& name = names_[part.parameter];
        const std::string here = part_name(name, part);
        own.tensors.emplace_back(steps_name(here), find(whole, steps_name(name)));
        for (const std::string& moment : moments_) {
            const Tensor all = find(whole, moment_name(moment, name));
            if (!all.defined()) continue;
            own.tensors.emplace_back(moment_name(moment, here), part_of(all, part.own));
        }
    }
    return own;
}

ParameterGroups OptimizerSlice::groups(const OptimizerState& of) const {
    ParameterGroups groups;
    std::size_t next = 0;
    for (const auto& group : of.groups) {
        NamedTensors parameters;
        for (const std::string& name : group.parameters) {
            parameters.emplace_back(name, views_[next++]);
        }
        groups.push_back({parameters, group.weight_decay, group.lr_factor});
    }
    return groups;
}

// The origins of the parts, in the order of the groups.
std::vector<Optimizer::Part> OptimizerSlice::origins(const OptimizerState& of) const {
    std::vector<Optimizer::Part> origins;
    for (const auto& group : of.groups) {
        for (const std::string& here : group.parameters) {
            for (const FlatParameters::Part& part : parts_) {
                const std::string& name = names_[part.parameter];
                if (part_name(name, part) == here) origins.push_back({name, part.own.begin});
            }
        }
    }
    return origins;
}

void OptimizerSlice::step(const Tensor& gradient, double lr, double grad_scale) {
    ++taken_;
    lr_ = lr;
    if (!optimizer_) return;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::int64_t at = parts_[i].at;
        views_[i].set_grad(views::slice(gradient, 0, at, at + parts_[i].own.size()));
    }
    optimizer_->set_lr(lr);
    optimizer_->step(grad_scale);
    optimizer_->zero_grad();
}

// The slice's moments, one after the other, each [n].
Tensors OptimizerSlice::own_moments() const {
    Tensors moments(moments_.size());
    if (!optimizer_) return moments;
    const OptimizerState state = optimizer_->shared_state();
    const auto& last = parts_.back();
    for (std::size_t k = 0; k < moments_.size(); ++k) {
        moments[k] = Tensor({last.at + last.own.size()}, flat_.dtype());
        for (const FlatParameters::Part& part : parts_) {
            views::slice(moments[k], 0, part.at, part.at + part.own.size())
                .copy_(
                    find(state, moment_name(moments_[k], part_name(names_[part.parameter], part))));
        }
    }
    return moments;
}

// The whole optimiser's state after `steps` more steps.
OptimizerState OptimizerSlice::without_moments(std::int64_t steps) const {
    OptimizerState state = begun_;
    state.steps += steps;
    state.tensors.clear();
    for (const std::string& name : names_) {
        const auto before = find(begun_, steps_name(name)).item<std::int64_t>();
        state.tensors.emplace_back(steps_name(name), tensor(std::vector{before + steps}, {}));
    }
    return state;
}

void OptimizerSlice::collect(Communicator& c, Optimizer& whole) const {
    const Tensors mine = own_moments();
    if (c.rank() != 0) {
        std::vector<Sent> sent;
        for (const Tensor& moment : mine) {
            if (moment.defined()) sent.push_back({0, bytes_of(moment)});
        }
        return c.exchange(sent, {}, "moments");
    }
    OptimizerState state = without_moments(taken_);
    state.lr = lr_;
    std::vector<Tensors> moments(moments_.size());  // of all parameters
    for (std::size_t k = 0; k < moments_.size(); ++k) {
        const Tensors parameters = whole.parameters();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            moments[k].push_back(zeros_like(parameters[i]));
            state.tensors.emplace_back(moment_name(moments_[k], names_[i]), moments[k][i]);
        }
        flat_.unpack(mine[k], 0, moments[k]);
    }
    for (int p = 1; p < c.size(); ++p) {
        const std::int64_t owned = flat_.owned(p);
        for (std::size_t k = 0; k < moments_.size() && owned > 0; ++k) {
            Tensor numbers({owned}, flat_.dtype());
            const Received received{p, mutable_bytes_of(numbers)};
            c.exchange({}, {&received, 1}, "moments");
            flat_.unpack(numbers, p, moments[k]);
        }
    }
    whole.load_state(state);
}

std::size_t OptimizerSlice::bytes() const {
    std::size_t bytes = 0;
    for (const Tensor& moment : own_moments()) bytes += moment.defined() ? moment.bytes() : 0;
    return bytes;
}

}  // namespace tapestry
