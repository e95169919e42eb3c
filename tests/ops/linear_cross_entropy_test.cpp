// What the table of ops does not check: sums over several slices, the mean over no rows, an f32
// weight beside narrow activations, memory.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/linear_cross_entropy.h>
#include <tapestry/ops/matmul.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace tapestry;

namespace {

struct Problem {
    Tensor x, weight, targets;
};

// Logits of several slices: 64 MB are 128 rows of 49,152 classes in f64.
Problem large_problem(DType dtype, DType weight_dtype, std::int64_t rows) {
    constexpr std::int64_t kClasses = 49'152, kFeatures = 6;
    Generator generator(5);
    Tensor targets = randint(0, kClasses, {rows}, generator);
    targets.mutable_data<std::int64_t>()[3] = -100;
    return {to(normal({rows, kFeatures}, 0, 1, generator), dtype),
            to(normal({kClasses, kFeatures}, 0, 1, generator), weight_dtype), targets};
}

struct Result {
    double loss;
    Tensor to_x, to_weight;
};

template <class Loss>
Result result_of(const Problem& problem, const Loss& loss) {
    Tensor x = problem.x.clone(), weight = problem.weight.clone();
    x.set_requires_grad();
    weight.set_requires_grad();
    Tape tape;
    const Tensor y = loss(x, weight);
    tape.backward(y);
    return {y.item(), x.grad(), weight.grad()};
}

Result sliced(const Problem& problem, const LinearCrossEntropyOptions& options, double factor = 1) {
    return result_of(problem, [&](const Tensor& x, const Tensor& weight) {
        return linear_cross_entropy(x, weight, problem.targets, options) * factor;
    });
}

Result plain(const Problem& problem, const LinearCrossEntropyOptions& options, double factor = 1) {
    return result_of(problem, [&](const Tensor& x, const Tensor& weight) {
        Tensor z = linear(x, to(weight, x.dtype()));
        if (options.softcap > 0) z = tanh(z * (1 / options.softcap)) * options.softcap;
        return cross_entropy(
                   z, problem.targets,
                   {.label_smoothing = options.label_smoothing, .reduction = options.reduction}) *
               factor;
    });
}

double largest(const Tensor& x) {
    double most = 0;
    for (const double value : to(x, DType::f64).to_vector<double>()) {
        most = std::max(most, std::abs(value));
    }
    return most;
}

double difference(const Tensor& a, const Tensor& b) {
    return largest(to(a, DType::f64) - to(b, DType::f64)) / largest(b);
}

void check_same(const Result& a, const Result& b, double tolerance) {
    CHECK(a.loss == doctest::Approx(b.loss).epsilon(tolerance));
    CHECK(difference(a.to_x, b.to_x) < tolerance);
    CHECK(difference(a.to_weight, b.to_weight) < tolerance);
}

}  // namespace

TEST_CASE("linear_cross_entropy: several slices give what the plain form gives") {
    const LinearCrossEntropyOptions options{.label_smoothing = 0.1, .softcap = 4};
    SUBCASE("f64") {
        const Problem problem = large_problem(DType::f64, DType::f64, 300);
        check_same(sliced(problem, options, 0.5), plain(problem, options, 0.5), 1e-12);
    }
    SUBCASE("f32") {
        const Problem problem = large_problem(DType::f32, DType::f32, 700);
        check_same(sliced(problem, {}), plain(problem, {}), 2e-6);
    }
    SUBCASE("bf16") {
        const Problem problem = large_problem(DType::bf16, DType::bf16, 1300);
        check_same(sliced(problem, options), plain(problem, options), 0.02);
    }
    SUBCASE("bf16 activations, an f32 weight: its gradient is f32") {
        const Problem problem = large_problem(DType::bf16, DType::f32, 1300);
        const Result result = sliced(problem, options);
        CHECK(result.to_weight.dtype() == DType::f32);
        check_same(result, plain(problem, options), 0.02);
    }
    SUBCASE("f16 activations, an f32 weight, one slice") {
        const Problem problem = large_problem(DType::f16, DType::f32, 10);
        check_same(sliced(problem, options), plain(problem, options), 0.003);
    }
}

TEST_CASE("linear_cross_entropy: ignored rows take no part, whatever they hold") {
    Generator generator(6);
    const Problem learned{normal({40, 5}, 0, 1, generator), normal({70, 5}, 0, 1, generator),
                          randint(0, 70, {40}, generator)};
    Problem all{full({100, 5}, std::nan("")), learned.weight, full({100}, -100, DType::i64)};
    const auto place = [](std::int64_t i) { return i * 5 / 2; };  // 0, 2, 5, 7, ...
    for (std::int64_t i = 0; i < 40; ++i) {
        all.targets.mutable_data<std::int64_t>()[place(i)] =
            learned.targets.data<std::int64_t>()[i];
        std::copy_n(learned.x.data<float>() + 5 * i, 5, all.x.mutable_data<float>() + 5 * place(i));
    }
    const Result some = sliced(learned, {}), result = sliced(all, {});
    CHECK_EQ(result.loss, some.loss);
    CHECK_EQ(result.to_weight.to_vector<float>(), some.to_weight.to_vector<float>());
    std::vector<float> expected(500, 0.0F);
    for (std::int64_t i = 0; i < 40; ++i) {
        std::copy_n(some.to_x.data<float>() + 5 * i, 5, expected.begin() + 5 * place(i));
    }
    CHECK_EQ(result.to_x.to_vector<float>(), expected);
}

TEST_CASE("linear_cross_entropy: in f16 the slopes of rare classes are not lost") {
    const Problem problem = large_problem(DType::f16, DType::f32, 1300);
    const Problem wide{to(problem.x, DType::f32), problem.weight, problem.targets};
    const auto sum_of_rare = [&](const Result& result) {  // of classes that are no target
        std::vector<double> rows(49'152, 1);
        for (const std::int64_t target : problem.targets.to_vector<std::int64_t>()) {
            if (target >= 0) rows[static_cast<std::size_t>(target)] = 0;
        }
        const auto all = result.to_weight.to_vector<double>();
        double total = 0;
        for (std::size_t i = 0; i < all.size(); ++i) total += rows[i / 6] * std::abs(all[i]);
        return total;
    };
    const double expected = sum_of_rare(plain(wide, {}));
    CHECK(sum_of_rare(sliced(problem, {})) == doctest::Approx(expected).epsilon(0.001));
}

TEST_CASE("linear_cross_entropy: logits of several slices take one slice's memory") {
    const Problem problem = large_problem(DType::f32, DType::f32, 1024);  // logits of 201 MB
    const auto peak_of = [&](auto loss) {
        release_cached_memory();
        reset_peak_memory();
        const std::size_t before = memory_statistics().peak;
        loss(problem, LinearCrossEntropyOptions{}, 1.0);
        return memory_statistics().peak - before;
    };
    CHECK(peak_of(sliced) < std::size_t{80'000'000});
    CHECK(peak_of(plain) > std::size_t{400'000'000});
    const auto of_frozen = [](const Problem& one, const LinearCrossEntropyOptions&, double) {
        Tensor x = one.x.clone();
        x.set_requires_grad();
        Tape tape;
        tape.backward(linear_cross_entropy(x, one.weight, one.targets));
    };
    CHECK(peak_of(of_frozen) < std::size_t{30'000'000});
}

TEST_CASE("linear_cross_entropy: the same bits whatever else is on the tape") {
    for (const std::int64_t rows : {700, 643, 387}) {  // the last slice of 643 has three rows
        CAPTURE(rows);
        const Problem problem = large_problem(DType::f32, DType::f32, rows);
        const Result whole = sliced(problem, {});
        Tensor x = problem.x.clone();
        x.set_requires_grad();
        Tape tape;  // with a frozen weight
        tape.backward(linear_cross_entropy(x, problem.weight, problem.targets));
        CHECK(x.grad().to_vector<float>() == whole.to_x.to_vector<float>());
        const double unrecorded =
            linear_cross_entropy(problem.x, problem.weight, problem.targets).item();
        CHECK(unrecorded == whole.loss);
    }
}

TEST_CASE("linear_cross_entropy: a mean over nothing is NaN, its gradients are 0") {
    Tensor x = ones({2, 3}), weight = ones({4, 3});
    x.set_requires_grad();
    weight.set_requires_grad();
    Tape tape;
    const Tensor loss = linear_cross_entropy(x, weight, full({2}, -100, DType::i64));
    CHECK(std::isnan(loss.item()));
    tape.backward(loss);
    CHECK(largest(x.grad()) == 0);
    CHECK(largest(weight.grad()) == 0);
    CHECK(std::isnan(linear_cross_entropy(zeros({0, 3}), weight, zeros({0}, DType::i64)).item()));
}

TEST_CASE("linear_cross_entropy: a walk that is retained gives the same again") {
    const Problem problem = large_problem(DType::f32, DType::f32, 4);
    Tensor x = problem.x.clone(), weight = problem.weight.clone();
    x.set_requires_grad();
    weight.set_requires_grad();
    Tape tape;
    const Tensor y = linear_cross_entropy(x, weight, problem.targets);
    const Tensors first = tape.gradient(y, {x, weight}, {.retain = true});
    tape.backward(y, {.retain = true});
    Tensor(x.grad()).fill_(7);  // not the memory that the entry has saved
    Tensor(weight.grad()).fill_(7);
    const Tensors second = tape.gradient(y, {x, weight});
    CHECK(first[0].to_vector<float>() == second[0].to_vector<float>());
    CHECK(first[1].to_vector<float>() == second[1].to_vector<float>());
}
