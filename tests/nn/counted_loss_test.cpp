// A mean over counted targets stays one, however its batch is cut.
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <mutex>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;

namespace {

using Targets = std::vector<std::int64_t>;

// Eight rows; cut into two, four or eight parts, these count different numbers of targets.
const Targets kUneven{1, -100, 0, 2, -100, -100, 2, -100};
const Targets kEven{1, 2, 0, 2, 1, 0, 2, 2};

struct Stepped {
    double loss = 0, norm = 0;
    std::vector<double> weights;
    bool operator==(const Stepped&) const = default;
};

struct Cut {
    std::int64_t accumulate = 1;
    std::int64_t micro_batches = 1;
    bool counted = true;
    Communicator* communicator = nullptr;
    DType dtype = DType::f32;
};

// One step of SGD on eight rows, cut into accumulate * micro_batches parts.
Stepped stepped(const Targets& targets, const Cut& cut) {
    Generator g(3);
    Linear model(5, 3, g);
    model.to(cut.dtype);
    SGD sgd({{.parameters = model.parameters()}}, {});
    AdamW adamw({{.parameters = model.parameters()}}, {});  // rounds bf16
    Optimizer& optimizer = cut.dtype == DType::bf16 ? static_cast<Optimizer&>(adamw) : sgd;
    TrainStep step(optimizer, {.accumulate = cut.accumulate,
                               .micro_batches = cut.micro_batches,
                               .clip = 0,
                               .communicator = cut.communicator});
    const Tensor x = cast(test::random({8, 5}, 7, DType::f32), cut.dtype);
    const Tensor y = tensor(targets, {8});
    const std::int64_t rows = 8 / (cut.accumulate * cut.micro_batches);
    std::int64_t at = step.share().begin * rows;
    const StepResult result = step.take(1, 0.5, [&]() -> CountedLoss {
        const Tensor inputs = slice(x, 0, at, at + rows), own = slice(y, 0, at, at + rows);
        at += rows;
        const Tensor mean = cross_entropy(model(inputs), own);
        return cut.counted ? CountedLoss(mean, count_targets(own)) : CountedLoss(mean);
    });
    Stepped all{result.loss, result.grad_norm, {}};
    for (const Tensor& p : model.parameters()) {
        for (const double number : cast(p, DType::f64).to_vector<double>()) {
            all.weights.push_back(number);
        }
    }
    return all;
}

Stepped by_processes(int size, Cut cut) {
    std::vector<Stepped> all(static_cast<std::size_t>(size));
    run_in_threads(size, [&](Communicator& c) {
        Cut own = cut;
        own.communicator = &c;
        all[static_cast<std::size_t>(c.rank())] = stepped(kUneven, own);
    });
    for (const Stepped& one : all) CHECK(one == all[0]);
    return all[0];
}

void check_close(const Stepped& a, const Stepped& b) {
    CHECK_EQ(a.loss, Approx(b.loss).epsilon(1e-6));
    CHECK_EQ(a.norm, Approx(b.norm).epsilon(1e-5));
    for (std::size_t i = 0; i < a.weights.size(); ++i) {
        CHECK_EQ(a.weights[i], Approx(b.weights[i]).epsilon(1e-5));
    }
}

}  // namespace

TEST_CASE(
    "counted loss: a batch in parts with ignored rows has the mean and the step of the whole") {
    const Stepped whole = stepped(kUneven, {});
    CHECK(whole == stepped(kUneven, {.counted = false}));
    for (const std::int64_t accumulate : {1, 2, 4}) {
        for (const std::int64_t micro_batches : {1, 2, 4, 8}) {
            if (accumulate * micro_batches > 8) continue;
            INFO(accumulate, " ", micro_batches);
            check_close(stepped(kUneven, {accumulate, micro_batches}), whole);
        }
    }
}

TEST_CASE("counted loss: any number of processes has the bits of one") {
    for (const DType dtype : {DType::f32, DType::bf16}) {
        for (const Cut cut : {Cut{1, 4}, Cut{1, 8}, Cut{2, 4}}) {
            Cut own = cut;
            own.dtype = dtype;
            const Stepped one = stepped(kUneven, own);
            for (const int size : {2, 3, 4}) {
                INFO(size);
                CHECK(by_processes(size, own) == one);
            }
        }
    }
}

TEST_CASE("counted loss: with equal counts the bits are those without") {
    for (const Cut cut : {Cut{1, 2}, Cut{1, 4}, Cut{2, 1}, Cut{4, 2}}) {
        Cut plain = cut;
        plain.counted = false;
        CHECK(stepped(kEven, cut) == stepped(kEven, plain));
    }
}

TEST_CASE("counted loss: a part, a step and a slice without a target are zero, not NaN") {
    const Targets none(8, -100);
    for (const Cut cut : {Cut{1, 1}, Cut{1, 4}, Cut{2, 1}}) {
        const Stepped step = stepped(none, cut);
        CHECK_EQ(step.loss, 0);
        CHECK_EQ(step.norm, 0);
    }
    CHECK_EQ(mean_of_sum(tensor({0.0}), 0).mean.item(), 0);
    CHECK_EQ(mean_of_sum(tensor({6.0}), 4).mean.item(), 1.5);
}

TEST_CASE("counted loss: gradients that were there before are not weighted") {
    const auto norm_of = [](bool counted) {
        Tensor w = tensor({2.0}).set_requires_grad();
        SGD optimizer({{.parameters = {w}}}, {});
        TrainStep step(optimizer, {.accumulate = 2, .clip = 0});
        w.set_grad(tensor({10.0}));
        double count = 1;
        step.gradients(
            [&] { return counted ? CountedLoss(sum(w), count++) : CountedLoss(sum(w)); });
        return step.norm();
    };
    CHECK_EQ(norm_of(true), Approx(11));
    CHECK_EQ(norm_of(false), Approx(11));
}

TEST_CASE("counted loss: an evaluation in slices is that of the whole") {
    const Tensor logits = test::random({8, 3}, 5, DType::f32);
    const Tensor targets = tensor(kUneven, {8});
    for (const std::int64_t rows : {1, 2, 4, 8}) {
        MeanLoss mean;
        for (std::int64_t at = 0; at < 8; at += rows) {
            const Tensor own = slice(targets, 0, at, at + rows);
            mean.add({cross_entropy(slice(logits, 0, at, at + rows), own), count_targets(own)});
        }
        CHECK_EQ(mean.value(), Approx(cross_entropy(logits, targets).item()).epsilon(1e-6));
        CHECK_EQ(mean.count(), 4);
    }
    CHECK(std::isnan(MeanLoss().value()));
}

TEST_CASE("counted loss: what is refused") {
    Tensor w = tensor({2.0}).set_requires_grad();
    SGD optimizer({{.parameters = {w}}}, {});
    TrainStep step(optimizer, {.micro_batches = 2});
    int calls = 0;
    check_throws<ValueError>(
        [&] {
            step.take(1, 0.1,
                      [&] { return calls++ == 0 ? CountedLoss(sum(w)) : CountedLoss(sum(w), 3); });
        },
        "train: the losses of some micro-batches have a count and others have none");
    check_throws<ValueError>([&] { step.take(1, 0.1, [&] { return CountedLoss(sum(w), -3); }); },
                             "train: the count of a loss must be finite and >= 0, got -3");
    check_throws<ValueError>(
        [&] {
            MeanLoss().add({sum(w), NAN});
        },
        "train: the count of a loss must be finite and >= 0, got nan");
}
