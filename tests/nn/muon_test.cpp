// Muon: orthogonalization by matrix products, steps against plain loops, state, and which
// parameters it updates.
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/muon.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_message;
using test::random;

namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Tensor& x) {
    const auto values = x.to_vector<double>();
    Rows rows(static_cast<std::size_t>(x.size(0)));
    const auto width = static_cast<std::size_t>(x.size(1));
    for (std::size_t i = 0; i < values.size(); ++i) rows[i / width].push_back(values[i]);
    return rows;
}

Rows product(const Rows& a, const Rows& b) {
    Rows y(a.size(), std::vector<double>(b[0].size()));
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (std::size_t j = 0; j < y[i].size(); ++j) {
            for (std::size_t k = 0; k < b.size(); ++k) y[i][j] += a[i][k] * b[k][j];
        }
    }
    return y;
}

Rows turned(const Rows& a) {
    Rows y(a[0].size(), std::vector<double>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a[i].size(); ++j) y[j][i] = a[i][j];
    }
    return y;
}

// a x + b (x x^T) x + c (x x^T)^2 x, literally.
Rows plain_orthogonalised(Rows x, int iterations) {
    double squares = 0;
    for (const auto& row : x) {
        for (const double value : row) squares += value * value;
    }
    for (auto& row : x) {
        for (double& value : row) value /= std::sqrt(squares);
    }
    for (int step = 0; step < iterations; ++step) {
        const Rows square = product(x, turned(x));
        const Rows once = product(square, x), twice = product(square, once);
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < x[i].size(); ++j) {
                x[i][j] = 3.4445 * x[i][j] - 4.7750 * once[i][j] + 2.0315 * twice[i][j];
            }
        }
    }
    return x;
}

double largest_difference(const Rows& a, const Rows& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a[i].size(); ++j) {
            worst = std::max(worst, std::abs(a[i][j] - b[i][j]));
        }
    }
    return worst;
}

const GPTConfig kTiny{.vocab = 11, .context = 6, .layers = 2, .heads = 2, .dim = 8};

void step(const GPT& model, Optimizer& optimizer, std::uint64_t seed) {
    Generator generator(seed);
    const Tensor ids = randint(0, 11, {3, 7}, generator);
    optimizer.zero_grad();
    Tape tape;
    tape.backward(model.loss(slice(ids, 1, 0, 6), slice(ids, 1, 1, 7)));
    optimizer.step(0.5);
}

}  // namespace

TEST_CASE("orthogonalised: the formula, for low and for tall matrices, and what it refuses") {
    for (const Shape& shape :
         {Shape{3, 5}, Shape{5, 3}, Shape{4, 4}, Shape{1, 6}, Shape{3, 8}, Shape{8, 3}}) {
        for (const int iterations : {1, 2, 5}) {
            const Tensor x = random(shape);
            CHECK(largest_difference(rows_of(orthogonalised(x, iterations)),
                                     plain_orthogonalised(rows_of(x), iterations)) < 1e-10);
        }
    }
    CHECK_EQ(orthogonalised(zeros({2, 3})).to_vector<float>(), std::vector<float>(6, 0));
    test::check_throws<ShapeError>([] { orthogonalised(ones({3})); },
                                   "orthogonalised: needs a matrix, got [3]");
    check_message<ValueError>(
        [] {
            orthogonalised(ones({3, 3}), 0);
        },
        "orthogonalised: iterations must be at least 1, got 0");
}

TEST_CASE("orthogonalised: what is short becomes as long as what is long") {
    // Axis-aligned, so the singular values are visible.
    const double lengths[] = {1, 0.3, 0.05, 0.01};
    Tensor x = zeros({4, 9}, DType::f64);
    for (std::int64_t i = 0; i < 4; ++i) x.mutable_data<double>()[9 * i + i] = lengths[i];
    const Rows y = rows_of(orthogonalised(x));
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 9; ++j) {
            CHECK_EQ(y[i][j], Approx(i == j ? 0.95 : 0).epsilon(0.3));
        }
    }
}

TEST_CASE("Muon: steps of a matrix against plain loops; the others are AdamW's") {
    const Tensor p = random({3, 5}, 1).set_requires_grad(), q = random({5}, 2).set_requires_grad();
    const Tensor like = random({5}, 2).set_requires_grad();
    const MuonGroups both{
        .matrices =
            ParameterGroups{
                {.parameters = ParameterList{{"p", p}}, .weight_decay = 0.3, .lr_factor = 2}},
        .others = ParameterGroups{{.parameters = ParameterList{{"q", q}}, .weight_decay = 0}}};
    Muon muon(both, {.lr = 0.05, .momentum = 0.8, .iterations = 3, .beta2 = 0.9});
    AdamW adamw({{.parameters = {like}, .weight_decay = 0}}, {.lr = 0.05, .beta2 = 0.9});
    Rows expected = rows_of(p), momentum(3, std::vector<double>(5));
    for (std::uint64_t i = 0; i < 4; ++i) {
        const Tensor g = random({3, 5}, 10 + i), h = random({5}, 20 + i);
        Tensor(p).set_grad(g);
        Tensor(q).set_grad(h);
        Tensor(like).set_grad(h);
        muon.step(0.25);
        adamw.step(0.25);
        Rows ahead = rows_of(g);
        for (std::size_t r = 0; r < 3; ++r) {
            for (std::size_t c = 0; c < 5; ++c) {
                momentum[r][c] = 0.8 * momentum[r][c] + 0.25 * ahead[r][c];
                ahead[r][c] = 0.25 * ahead[r][c] + 0.8 * momentum[r][c];
            }
        }
        const Rows moved = plain_orthogonalised(ahead, 3);
        const double lr = 2 * 0.05;
        for (std::size_t r = 0; r < 3; ++r) {
            for (std::size_t c = 0; c < 5; ++c) {
                expected[r][c] =
                    expected[r][c] * (1 - lr * 0.3) - lr * 0.2 * std::sqrt(5.0) * moved[r][c];
            }
        }
        CHECK(largest_difference(rows_of(p), expected) < 1e-12);
    }
    CHECK_EQ(q.to_vector<double>(), like.to_vector<double>());
}

TEST_CASE("Muon: a model's matrices are those of its blocks, and the rest is AdamW's") {
    GPTConfig config = kTiny;
    config.positions = Positions::relative;  // its tables are matrices, but not of a linear layer
    config.tied_head = false;
    Generator generator(1);
    const GPT model(config, generator);
    const MuonGroups groups = muon_groups(model, 0.1);
    REQUIRE_EQ(groups.matrices.size(), 1);
    CHECK_EQ(groups.matrices[0].weight_decay, 0.1);
    std::vector<std::string> names;
    for (const auto& [name, parameter] : groups.matrices[0].parameters) names.push_back(name);
    std::vector<std::string> wanted;
    for (const char* layer : {"blocks.0.", "blocks.1."}) {
        for (const char* name : {"attention.qkv.weight", "attention.output.weight",
                                 "feed_forward.up.weight", "feed_forward.down.weight"}) {
            wanted.push_back(std::string(layer) + name);
        }
    }
    CHECK_EQ(names, wanted);
    std::size_t others = 0;
    for (const ParameterGroup& group : groups.others) others += group.parameters.size();
    CHECK_EQ(others + names.size(), model.parameters().size());
    const ParameterGroups vector(NamedTensors{{"b", ones({3}).set_requires_grad()}});
    check_message<ValueError>(
        [&] {
            Muon(MuonGroups{vector, {}});
        },
        "Muon: parameter \"b\" must be a matrix, got [3]");
    check_message<ValueError>([&] { Muon(groups, {.momentum = 1}); },
                              "Muon: momentum must be in (0, 1), got 1");
    check_message<ValueError>([&] { Muon(groups, {.iterations = 0}); },
                              "Muon: iterations must be a whole number from 1 to 100, got 0");
}

TEST_CASE("Muon: a restored state gives the same bits, with any number of threads") {
    Generator one(1), two(2);
    const GPT first(kTiny, one), second(kTiny, two);
    Muon optimizer(muon_groups(first, 0.1), {.lr = 0.02, .momentum = 0.9, .iterations = 4});
    for (std::uint64_t i = 0; i < 2; ++i) step(first, optimizer, i);
    const OptimizerState state = optimizer.state();
    CHECK_EQ(state.kind, "Muon");
    std::size_t momenta = 0, means = 0;
    for (const auto& [name, tensor] : state.tensors) {
        momenta += name.starts_with("momentum.") ? 1 : 0;
        means += name.starts_with("m.") ? 1 : 0;
    }
    CHECK_EQ(momenta, 8);
    CHECK_EQ(means, first.parameters().size() - 8);
    const Tensors from = first.parameters();
    Tensors to = second.parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
    Muon fresh(muon_groups(second, 0.3), {});
    fresh.load_state(state);
    for (std::uint64_t i = 2; i < 5; ++i) {
        const ThreadsGuard threads(1);
        step(first, optimizer, i);
    }
    for (std::uint64_t i = 2; i < 5; ++i) {
        const ThreadsGuard threads(3);
        step(second, fresh, i);
    }
    CHECK_EQ(test::numbers_of(first), test::numbers_of(second));
    AdamW other(second, {});
    test::check_throws<ValueError>([&] { other.load_state(state); },
                                   "load_state: the state is of Muon, this optimizer is AdamW");
}
