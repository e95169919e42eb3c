#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/tests/mutations/export.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace tapestry::test {
namespace {

using catalog::BoundCase, catalog::bind_case, catalog::OpCase, catalog::real_result;

using Json = nlohmann::ordered_json;

Json as_json(const Tensor& x) {
    return {{"dtype", fmt::format("{}", x.dtype())},
            {"shape", std::vector<std::int64_t>(x.shape().begin(), x.shape().end())},
            {"values", x.to_vector<double>()}};
}

Json as_json(const Tensors& tensors) {
    Json all = Json::array();
    for (const Tensor& x : tensors) all.push_back(as_json(x));
    return all;
}

// The gradient of <w, y> for w = cos(0), cos(1), ..., for comparison with other frameworks.
Tensors gradient_of_row(const OpCase& row, const Tensors& inputs) {
    const BoundCase bound = bind_case(row, inputs);
    Tensors leaves;
    for (const Tensor& x : bound.inputs) leaves.push_back(x.clone().set_requires_grad());
    Tape tape;
    const Tensor y = bound.f(leaves);
    std::vector<double> w;
    for (std::int64_t i = 0; i < y.numel(); ++i) w.push_back(std::cos(static_cast<double>(i)));
    return tape.gradient(y, leaves, {.cotangent = tensor(w, y.shape())});
}

Json function_json(const OpCase& row, const std::string& title, const Tensors& inputs) {
    return {{"row", row.name},
            {"variant", row.variant},
            {"title", title},
            {"inputs", as_json(inputs)},
            {"output", as_json(real_result(row.op(inputs)))},
            {"gradient", as_json(gradient_of_row(row, inputs))}};
}

double largest_exponent(const ScaledCase& one) {
    double largest = 0;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        if (is_floating(one.inputs[i].dtype())) {
            largest = std::max(largest, std::abs(one.powers[i]));
        }
    }
    return largest;
}

Json correct_case(std::uint64_t number) {
    const ScaledCase one = random_case(number, 1);
    Json json = function_json(*one.row, one.title, one.inputs);
    json["exponent"] = largest_exponent(one);
    json["ours"] = to_string(check(one, number).verdict);
    return json;
}

// Records the operands of a tape's entries.
class Operands final : public TapeObserver {
public:
    void recorded(const Op&, const Tensors& inputs, const Tensors&) override {
        of_entry.push_back(inputs);
    }
    std::vector<Tensors> of_entry;
};

// The inputs of the row that a leaf of the bound function represents, in order.
std::vector<std::size_t> inputs_of_leaf(const MutationCase& one, std::size_t leaf) {
    std::vector<std::size_t> real;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        if (is_floating(one.inputs[i].dtype())) real.push_back(i);
    }
    return one.tied ? real : std::vector<std::size_t>{real[leaf]};
}

// Maps every operand of the only entry to an input of the row. Empty if there are more entries, or
// a leaf occurs in the entry less or more often than in the row's inputs.
std::vector<std::optional<std::size_t>> inputs_of_operands(const MutationCase& one,
                                                           const Tensors& leaves,
                                                           const Operands& seen) {
    if (seen.of_entry.size() != 1) return {};
    const Tensors& operands = seen.of_entry[0];
    std::vector<std::optional<std::size_t>> found(operands.size());
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        const std::vector<std::size_t> inputs = inputs_of_leaf(one, leaf);
        std::size_t uses = 0;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (!operands[i].defined() || operands[i].leaf() != leaves[leaf].leaf()) continue;
            if (uses == inputs.size()) return {};
            found[i] = inputs[uses++];
        }
        if (uses != inputs.size()) return {};
    }
    return found;
}

Json as_json(const Corruption& what, std::size_t other) {
    return {{"kind", to_string(what.kind)},
            {"factor", what.factor},
            {"axis", what.axis},
            {"other", other}};
}

// Mutation and place; null if only our tape has such a place.
Json described(const MutationCase& one, const Target& target, Mutation mutation) {
    Tensors leaves;
    for (const Tensor& x : one.bound.inputs) leaves.push_back(x.clone().set_requires_grad());
    Operands seen;
    const Tape tape;
    one.bound.f(leaves);
    const auto inputs = inputs_of_operands(one, leaves, seen);
    if (inputs.empty() || !inputs[target.operand]) return nullptr;
    const Corruption what = corruption(mutation, *tape.entries()[0], target.operand);
    const bool takes_other = what.kind == Corruption::Kind::other;
    if (takes_other && !inputs[what.other]) return nullptr;
    return {{"mutation", to_string(mutation)},
            {"op", target.op},
            {"input", *inputs[target.operand]},
            {"corruption", as_json(what, takes_other ? *inputs[what.other] : 0)}};
}

void add_mutants(Json& json, const SuiteOptions& options) {
    Json functions = Json::array(), mutants = Json::array();
    for_each_mutant(options, [&](const MutationCase& one, const Target& target, Mutation mutation) {
        Json mutant = described(one, target, mutation);
        if (mutant.is_null()) return;
        if (functions.empty() || functions.back()["title"] != one.title) {
            functions.push_back(function_json(*one.row, one.title, one.inputs));
            functions.back()["tied"] = one.tied;
        }
        mutant["function"] = functions.size() - 1;
        const Mutant in_place(mutation, target);
        mutant["ours"] = to_string(check(one).verdict);
        mutants.push_back(mutant);
    });
    json["functions"] = std::move(functions);
    json["mutants"] = std::move(mutants);
}

}  // namespace

void export_cases(const std::string& path, int cases, const SuiteOptions& options) {
    std::ofstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(path);
    Json json{{"correct", Json::array()}};
    for (int i = 0; i < cases; ++i) {
        json["correct"].push_back(correct_case(static_cast<std::uint64_t>(i)));
    }
    add_mutants(json, options);
    file << json;
    file.close();
}

}  // namespace tapestry::test
