// Op::forward reproduces the recorded bits, for every row of every op and for the ops that their
// rules record; Op::decisions distinguishes branches.
#include <doctest/doctest.h>
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/catalog/bound_case.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <cstring>
#include <numeric>
#include <optional>

using namespace tapestry;

namespace {

using catalog::all_cases, catalog::make_inputs, catalog::OpCase, catalog::real_result;

struct Entry {
    const Op* op;
    Tensors inputs;
    Tensors outputs;
};

// Keeps the recorded ops; the tape owns them.
class Witness final : public TapeObserver {
public:
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        entries.push_back({&op, inputs, outputs});
    }
    std::vector<Entry> entries;
};

bool same_bits(const Tensor& a, const Tensor& b) {
    if (a.defined() != b.defined()) return false;
    if (!a.defined()) return true;
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    const Tensor left = a.clone();
    const Tensor right = b.clone();
    return left.bytes() == 0 ||
           std::memcmp(left.storage()->data(), right.storage()->data(), left.bytes()) == 0;
}

bool same_bits(const Tensors& a, const Tensors& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same_bits(a[i], b[i])) return false;
    }
    return true;
}

// The same numbers in another layout: with the axes reversed.
Tensor backwards_in_memory(const Tensor& x) {
    std::vector<int> reversed(static_cast<std::size_t>(x.rank()));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    return views::permute(views::permute(x, reversed).clone(), reversed);
}

void check_entry(const Entry& entry) {
    CAPTURE(entry.op->described());
    CHECK(same_bits(entry.op->forward(entry.inputs), entry.outputs));
    const Tensor decided = entry.op->decisions(entry.inputs);
    if (!decided.defined()) return;
    CHECK_FALSE(is_floating(decided.dtype()));
    Tensors elsewhere;
    for (const Tensor& input : entry.inputs) elsewhere.push_back(backwards_in_memory(input));
    CHECK(same_bits(entry.op->decisions(elsewhere), decided));
}

Tensors as_leaves(const Tensors& inputs) {
    Tensors leaves;
    for (const Tensor& x : inputs) {
        leaves.push_back(x.detach());
        if (is_floating(x.dtype())) leaves.back().set_requires_grad();
    }
    return leaves;
}

// Checks the forward pass and, if differentiable, the recorded backward pass, whose entries include
// kinds that no public function makes (unslice, index_add, normal_cdf).
void check_sample(const OpCase& row, const Tensors& inputs) {
    const Tensors leaves = as_leaves(inputs);
    Tape tape;
    std::optional<Witness> witness(std::in_place);
    const Tensor y = real_result(row.op(leaves));
    Tensors asked;
    for (const Tensor& leaf : leaves) {
        if (leaf.requires_grad()) asked.push_back(leaf);
    }
    if (row.differentiable && y.defined() && tape.follows(y)) {
        const Tensor cotangent = ones_like(y).set_requires_grad();  // so linear rules record too
        tape.gradient(y, asked, {.cotangent = cotangent, .create_graph = true});
    }
    const std::vector<Entry> entries = witness->entries;
    witness.reset();
    for (const Entry& entry : entries) check_entry(entry);  // recorded again
    const NoGradGuard no_grad;
    for (const Entry& entry : entries) check_entry(entry);
}

// The decisions of the last op that f records.
template <class F>
std::vector<std::int64_t> decided(const F& f, const std::vector<double>& x) {
    const Tensor leaf = tensor(x, {static_cast<std::int64_t>(x.size())}).set_requires_grad();
    Tape tape;
    const Witness witness;
    f(leaf);
    const Entry& last = witness.entries.back();
    const Tensor decisions = last.op->decisions(last.inputs);
    return decisions.defined() ? decisions.to_vector<std::int64_t>() : std::vector<std::int64_t>{};
}

using Decisions = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("forward of every recorded op gives the same bits again") {
    for (const OpCase& row : all_cases()) {
        CAPTURE(row.title());
        for (std::size_t i = 0; i < row.samples.size(); ++i) {
            CAPTURE(i);
            for (const DType dtype : {DType::f64, DType::f32}) {
                check_sample(row, make_inputs(row.samples[i], dtype, 17 + i));
            }
        }
    }
}

TEST_CASE("forward on other inputs is the function there, and can be differentiated") {
    const Tensor x = tensor<double>({1, -2, 3}).set_requires_grad();
    const Tensor other = tensor<double>({-1, 5, 0.5}).set_requires_grad();
    Tape tape;
    pad(clamp(x, -1, 2), {{1, 0}}, 7);
    const Op& clamped = *tape.entries().at(0);
    const Op& padded = *tape.entries().at(1);
    const Tensor y = clamped.forward({other})[0];
    CHECK(y.to_vector<double>() == std::vector<double>{-1, 2, 0.5});
    const Tensor dx = tape.gradient(sum(padded.forward({y})[0]), {other})[0];
    CHECK(dx.to_vector<double>() == std::vector<double>{1, 0, 1});
    const NoGradGuard no_grad;
    const Tensor untracked = padded.forward({other})[0];
    CHECK(untracked.to_vector<double>() == std::vector<double>{7, -1, 5, 0.5});
    CHECK_FALSE(tape.follows(untracked));
}

TEST_CASE("forward drops what was dropped") {
    const Tensor x = ones({40, 30}, DType::f64).set_requires_grad();
    const Tensor other = full({40, 30}, 2, DType::f64);
    Tape tape;
    const Witness witness;
    const Tensor y = dropout(x, 0.5);
    const Tensor twice = witness.entries.at(0).op->forward({other})[0];
    CHECK(same_bits(twice, y.detach() * 2));
    const Tensor attended = scaled_dot_product_attention(x, x, x, {.dropout = 0.5});
    const Entry entry = witness.entries.at(1);
    CHECK(same_bits(entry.op->forward(entry.inputs)[0], attended));
}

TEST_CASE("decisions are none where the function is smooth") {
    CHECK(decided([](const Tensor& x) { return gelu(x); }, {-1, 0, 1}).empty());
    CHECK(decided([](const Tensor& x) { return x * x; }, {-1, 0, 1}).empty());
    CHECK(decided([](const Tensor& x) { return sum(x); }, {-1, 0, 1}).empty());
}

TEST_CASE("decisions tell on which side of a kink, and on it") {
    const std::vector<double> x{-2, -1, 0, 1, 2};
    CHECK(decided([](const Tensor& t) { return relu(t); }, x) == Decisions{0, 0, 1, 2, 2});
    CHECK(decided([](const Tensor& t) { return abs(t); }, {-0.0, -1e-300, 1e-300}) ==
          Decisions{1, 0, 2});
    CHECK(decided([](const Tensor& t) { return clamp(t, -1, 1); }, x) == Decisions{0, 1, 2, 3, 4});
    const Tensor threshold = tensor<double>({1});
    CHECK(decided([&](const Tensor& t) { return maximum(t, threshold); }, x) ==
          Decisions{0, 0, 0, 1, 2});
    CHECK(decided([&](const Tensor& t) { return minimum(threshold, t); }, x) ==
          Decisions{2, 2, 2, 1, 0});
    CHECK(decided([&](const Tensor& t) { return pow(t, 1.5); }, {0, 3}) == Decisions{1, 2});
}

TEST_CASE("decisions of a reduction are the elements that attain it, ties and all") {
    CHECK(decided([](const Tensor& t) { return max(t); }, {3, 1, 3, 2}) == Decisions{1, 0, 1, 0});
    CHECK(decided(
              [](const Tensor& t) {
                  return min(reshape(t, {2, 2}), {1}, true);
              },
              {3, 1, 2, 2}) == Decisions{0, 1, 1, 1});
}

TEST_CASE("decisions of a choice are what chooses") {
    const Tensor mask = gt(tensor<double>({1, -1, 1}), 0);
    CHECK(decided([&](const Tensor& t) { return where(mask, t, neg(t.detach())); }, {1, 2, 3}) ==
          Decisions{1, 0, 1});
    CHECK(decided([&](const Tensor& t) { return masked_fill(t, mask, 0); }, {1, 2, 3}) ==
          Decisions{1, 0, 1});
    const Tensor ids = tensor<std::int64_t>({2, 0});
    CHECK(decided([&](const Tensor& t) { return gather(t, 0, ids); }, {1, 2, 3}) ==
          Decisions{2, 0});
    CHECK(decided([&](const Tensor& t) { return index_select(t, 0, ids); }, {1, 2, 3}) ==
          Decisions{2, 0});
    CHECK(decided([&](const Tensor& t) { return scatter_add(t, 0, ids, t.detach()); }, {1, 2, 3}) ==
          Decisions{2, 0});
    const Tensor two_by_two = tensor<std::int64_t>({{1, 0}, {0, 1}});
    CHECK(decided(
              [&](const Tensor& t) {
                  return embedding(reshape(t, {2, 1}), two_by_two);
              },
              {1, 2}) == Decisions{1, 0, 0, 1});
}
