#include <tapestry/autograd/tape.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/settings.h>
#include <tapestry/tests/source_dir.h>
#include <tapestry/tests/torch/check.h>

#include <cmath>
#include <set>

namespace tapestry::torch {
namespace {

Named by_name(const NamedTensors& tensors) { return {tensors.begin(), tensors.end()}; }

// ---- one case -----------------------------------------------------------------------------------

// The case in one dtype. Floating inputs with known gradients are leaves.
struct Case {
    Named inputs, weights, outputs, cotangents, input_gradients, weight_gradients;
};

Case read_case(const std::string& file, const std::string& name, DType dtype) {
    const Named& all = fixture(file);
    const auto kind = [&](const char* what, DType as) {
        return part(all, fmt::format("{}/{}.", name, what), as);
    };
    Case result{kind("input", dtype),           kind("weight", dtype),
                kind("output", DType::f64),     kind("cotangent", dtype),
                kind("input_grad", DType::f64), kind("weight_grad", DType::f64)};
    require(!result.outputs.empty(), "{}.safetensors: no case '{}'", file, name);
    for (auto& [input, x] : result.inputs) {
        if (result.input_gradients.count(input) != 0) x = x.clone().set_requires_grad();
    }
    return result;
}

void check_outputs(const Case& wanted, const Named& got) {
    CHECK_EQ(got.size(), wanted.outputs.size());
    for (const auto& [name, y] : wanted.outputs) {
        check_close("output." + name, look_up(got, name), y);
    }
}

// sum over outputs of sum(cotangent * output)
Tensor pulled_back(const Case& c, const Named& outputs) {
    Tensor loss;
    for (const auto& [name, cotangent] : c.cotangents) {
        const Tensor term = sum(look_up(outputs, name) * cotangent);
        loss = loss.defined() ? loss + term : term;
    }
    return loss;
}

void check_case(const Case& c, const Function& f) {
    check_outputs(c, f(c.inputs));
    Tape tape;
    const Named outputs = f(c.inputs);
    check_outputs(c, outputs);
    tape.backward(pulled_back(c, outputs));
    for (const auto& [name, wanted] : c.input_gradients) {
        check_close("input_grad." + name, look_up(c.inputs, name).grad(), wanted);
    }
}

}  // namespace

// ---- reading ------------------------------------------------------------------------------------

const Named& fixture(const std::string& file) {
    static std::map<std::string, Named> files;
    if (files.count(file) == 0) {
        const auto path = test::source_dir() / fmt::format("tests/fixtures/{}.safetensors", file);
        files[file] = by_name(read_safetensors(path).tensors);
    }
    return files[file];
}

const Tensor& look_up(const Named& tensors, const std::string& name) {
    const auto found = tensors.find(name);
    require(found != tensors.end(), "no tensor '{}' among {}", name, tensors.size());
    return found->second;
}

Named part(const Named& tensors, const std::string& prefix, DType dtype) {
    Named result;
    for (auto it = tensors.lower_bound(prefix);
         it != tensors.end() && it->first.starts_with(prefix); ++it) {
        const Tensor& x = it->second;
        result[it->first.substr(prefix.size())] = is_floating(x.dtype()) ? to(x, dtype) : x;
    }
    return result;
}

Tensor at(const Tensor& x, std::int64_t i) {
    return views::reshape(views::slice(x, 0, i, i + 1), x.shape().sub(1, x.rank()));
}

// ---- comparing ----------------------------------------------------------------------------------

void everywhere(const std::function<void(DType)>& f) {
    const test::SettingsGuard restored_at_the_end;
    for (const Isa isa : available_isas()) {
        if (parent_of(isa) != isa) continue;  // the same kernels of these types
        set_isa(isa);
        for (const int threads : {1, 2}) {
            set_num_threads(threads);
            for (const DType dtype : {DType::f64, DType::f32}) {
                INFO(name_of(isa) << ", " << threads << " threads, " << name_of(dtype));
                f(dtype);
            }
        }
    }
}

void check_close(const std::string& what, const Tensor& got, const Tensor& wanted) {
    INFO(what);
    REQUIRE(got.defined());
    REQUIRE_MESSAGE(got.shape() == wanted.shape(),
                    fmt::format("{} is {}, PyTorch's {}", what, got.shape(), wanted.shape()));
    const auto ours = got.to_vector<double>(), theirs = wanted.to_vector<double>();
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double error = std::abs(ours[i] - theirs[i]);
        largest = std::max(largest, std::abs(theirs[i]));
        worst = error <= worst ? worst : error;  // keeps NaN
    }
    CHECK_MESSAGE(worst <= tolerance(got.dtype()) * largest,
                  fmt::format("{} differs by {}, its largest number is {}", what, worst, largest));
}

// ---- modules ------------------------------------------------------------------------------------

void load_weights(Module& module, Names names, const Named& weights) {
    Named ours = by_name(module.named_parameters());
    for (const auto& weight : weights) {
        const Place place = place_of(names, weight.first);
        INFO("PyTorch's " << weight.first);
        const Tensor values =
            place.transposed ? views::transpose(weight.second, 0, 1) : weight.second;
        std::int64_t row = 0;
        for (const std::string& name : place.names) {
            INFO("ours: " << name);
            const auto found = ours.find(name);
            REQUIRE_MESSAGE(found != ours.end(), "there is none");
            Tensor parameter = found->second;
            const std::int64_t end = row + parameter.size(0);
            const Tensor rows = views::slice(values, 0, row, end);
            REQUIRE_EQ(parameter.shape(), rows.shape());
            parameter.copy_(rows);
            row = end;
            ours.erase(found);
        }
        REQUIRE_EQ(row, values.size(0));
    }
    for (const auto& left : ours) {
        FAIL_CHECK("PyTorch has nothing for " << left.first);
    }
}

void check_gradients(const Module& module, Names names, const Named& wanted) {
    const Named ours = by_name(module.named_parameters());
    for (const auto& [theirs, gradient] : wanted) {
        const Place place = place_of(names, theirs);
        // Compared in PyTorch's form: the gradient of a separate key bias is zero up to rounding,
        // so a tolerance relative to its largest number would be meaningless.
        Tensors parts;
        for (const std::string& name : place.names) {
            INFO(name);
            const Tensor& part = look_up(ours, name).grad();
            REQUIRE(part.defined());
            parts.push_back(part);
        }
        const Tensor whole = parts.size() == 1 ? parts[0] : concat(parts, 0);
        check_close("weight_grad." + theirs,
                    place.transposed ? views::transpose(whole, 0, 1) : whole, gradient);
    }
}

void check_against(const std::string& file, const std::string& name, Module& module, Names names,
                   const Function& f) {
    INFO(file << ": " << name);
    everywhere([&](DType dtype) {
        const Case c = read_case(file, name, dtype);
        module.to(dtype);
        load_weights(module, names, c.weights);
        module.zero_grad();
        check_case(c, f);
        CHECK_EQ(c.weights.size(), c.weight_gradients.size());
        check_gradients(module, names, c.weight_gradients);
    });
}

void check_against(const std::string& file, const std::string& name, const Function& f) {
    INFO(file << ": " << name);
    everywhere([&](DType dtype) {
        const Case c = read_case(file, name, dtype);
        REQUIRE(c.weights.empty());
        check_case(c, f);
    });
}

}  // namespace tapestry::torch
