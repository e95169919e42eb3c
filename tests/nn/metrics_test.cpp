// Scores against scikit-learn's (tests/fixtures/make_metrics_fixture.py), and their limits.
#include <doctest/doctest.h>
#include <tapestry/core/create.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/nn/metrics/classification.h>
#include <tapestry/nn/metrics/interval.h>
#include <tapestry/nn/metrics/ranking.h>
#include <tapestry/nn/metrics/regression.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;

namespace {

using Ids = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

const JsonTree& fixture() {
    static const JsonTree tree = [] {
        std::ifstream file(test::source_dir() / "tests/fixtures/metrics.json");
        return JsonTree(std::string{std::istreambuf_iterator<char>(file), {}});
    }();
    return tree;
}

Tensor vector_of(const JsonNode& node, const char* name, DType dtype) {
    if (dtype == DType::i64) {
        const Ids ids = node.get<Ids>(name);
        return tensor(ids, {std::ssize(ids)});
    }
    const Numbers numbers = node.get<Numbers>(name);
    return tensor(numbers, {std::ssize(numbers)});
}

doctest::Approx near(double x) { return doctest::Approx(x).epsilon(1e-12); }

void check_all(const Numbers& found, const Numbers& wanted) {
    REQUIRE_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == near(wanted[i]));
}

}  // namespace

TEST_CASE("metrics: classes as scikit-learn counts them") {
    for (const JsonNode& one : fixture().root().at("classes").elements()) {
        CAPTURE(one.get<std::string>("name"));
        const Tensor targets = vector_of(one, "targets", DType::i64);
        const Tensor found = vector_of(one, "predictions", DType::i64);
        const auto classes = static_cast<std::size_t>(one.count("classes"));
        ClassCounts counts(classes);
        const std::int64_t half = targets.numel() / 2;  // in two batches
        for (const auto& [begin, end] :
             {std::pair<std::int64_t, std::int64_t>{0, half}, std::pair{half, targets.numel()}}) {
            const std::vector<Index> part{Slice{begin, end}};
            counts.add(index(found, part), index(targets, part));
        }
        CHECK_EQ(counts.count(), targets.numel());
        CHECK(counts.accuracy() == near(one.get<double>("accuracy")));
        CHECK(accuracy(found, targets) == near(one.get<double>("accuracy")));
        CHECK_EQ(counts.matrix().to_vector<std::int64_t>(), one.get<Ids>("confusion"));
        for (const auto& [name, average] :
             {std::pair{"macro", Average::macro}, std::pair{"weighted", Average::weighted},
              std::pair{"micro", Average::micro}}) {
            check_all({counts.precision(average), counts.recall(average), counts.f1(average)},
                      one.get<Numbers>(name));
        }
        Numbers precision, recall, f1;
        for (std::size_t c = 0; c < classes; ++c) {
            precision.push_back(counts.precision(c));
            recall.push_back(counts.recall(c));
            f1.push_back(counts.f1(c));
        }
        const auto each = one.at("each").elements();
        check_all(precision, each[0].get<Numbers>());
        check_all(recall, each[1].get<Numbers>());
        check_all(f1, each[2].get<Numbers>());
    }
}

TEST_CASE("metrics: scores of classes, booleans, and what does not fit") {
    const Tensor logits = tensor<float>({{1, 3, 2}, {5, 0, 0}, {0, 0, 9}, {2, 1, 0}});
    const Tensor targets = tensor<std::int64_t>({1, 0, 2, 2});
    CHECK_EQ(accuracy(logits, targets), 0.75);
    ClassCounts counts(3);
    counts.add(logits, targets);
    CHECK_EQ(counts.accuracy(), 0.75);
    CHECK_EQ(accuracy(tensor<bool>({true, false}), tensor<bool>({true, true})), 0.5);
    CHECK(std::isnan(accuracy(zeros({0}, DType::i64), zeros({0}, DType::i64))));
    CHECK(std::isnan(ClassCounts(3).accuracy()));
    CHECK(std::isnan(ClassCounts(3).f1(Average::macro)));
    test::check_throws<ShapeError>([&] { accuracy(ones({4}), targets); },
                                   "metrics: predictions [4] do not fit targets [4] and one more "
                                   "axis, the classes");
    test::check_throws<ShapeError>([&] { accuracy(zeros({3}, DType::i64), targets); },
                                   "metrics: predictions [3] do not fit targets [4]");
    test::check_throws<DTypeError>([&] { accuracy(logits, ones({4})); },
                                   "metrics: targets must be i64 or bool, got f32");
    test::check_throws<IndexError>(
        [&] {
            counts.add(targets, tensor<std::int64_t>({0, 1, 3, 0}));
        },
        "metrics: class 3 is not from 0 to 2");
    CHECK_EQ(counts.count(), 4);  // nothing of a refused batch
    test::check_throws<Error>([&] { accuracy(Tensor(), targets); },
                              "metrics: got an undefined tensor");
}

TEST_CASE("metrics: ROC AUC and calibration as scikit-learn computes them") {
    for (const JsonNode& one : fixture().root().at("scores").elements()) {
        CAPTURE(one.get<std::string>("name"));
        const Tensor targets = vector_of(one, "targets", DType::i64);
        const Tensor p = vector_of(one, "probabilities", DType::f64);
        CHECK(roc_auc(p, targets) == near(one.get<double>("roc_auc")));
        CHECK(roc_auc(p, targets == 1) == near(one.get<double>("roc_auc")));
        CHECK(roc_auc(-p, targets) == near(1 - one.get<double>("roc_auc")));
        Numbers mean, frequency;
        for (const CalibrationBin& bin : calibration_curve(p, targets)) {
            mean.push_back(bin.probability);
            frequency.push_back(bin.frequency);
        }
        check_all(mean, one.get<Numbers>("mean"));
        check_all(frequency, one.get<Numbers>("frequency"));
        CHECK(calibration_error(p, targets) == near(one.get<double>("error")));
    }
    const Tensor p = tensor<float>({0, 0.5, 1}), all = ones({3}, DType::i64);
    CHECK(std::isnan(roc_auc(p, all)));
    CHECK(std::isnan(calibration_error(zeros({0}), zeros({0}, DType::i64))));
    const auto halves = calibration_curve(p, all, 2);  // 0 and 0.5, and 1
    CHECK_EQ(halves.size(), 2);
    CHECK_EQ(halves.front().count, 2);
    const Tensor edge = tensor<double>({0.57, 0.575});  // 0.57 ends bin 56 of 100
    CHECK_EQ(calibration_curve(edge, ones({2}, DType::i64), 100).size(), 2);
    CHECK_EQ(student_interval({1, 1}).low, 1);
    test::check_throws<ValueError>(
        [] { student_quantile(0); },
        "a quantile of Student's distribution needs 1 degree of freedom");
    CHECK_EQ(share_interval(0, 41).low, 0);
    CHECK_LE(share_interval(41, 41).high, 1);
    const Tensor same = full({3}, 0.1, DType::f64);  // whose mean rounds to another number
    CHECK_EQ(r2_score(tensor<double>({0.2, 0.1, 0.3}), same), 0);
    CHECK_EQ(r2_score(same, same), 1);
    const double inf = std::numeric_limits<double>::infinity();
    CHECK_EQ(roc_auc(tensor<double>({-inf, inf}), tensor<std::int64_t>({0, 1})), 1);
    test::check_throws<ValueError>(
        [&] {
            roc_auc(p, tensor<std::int64_t>({0, 1, 2}));
        },
        "roc_auc: target 2 must be 0 or 1, got 2");
    test::check_throws<ValueError>([&] { roc_auc(p * std::nan(""), all); },
                                   "roc_auc: score 0 is NaN");
    test::check_throws<ShapeError>([&] { roc_auc(p, ones({2}, DType::i64)); },
                                   "roc_auc: scores are [3], but targets [2]");
    test::check_throws<ValueError>([&] { calibration_error(p * 2, all); },
                                   "calibration_curve: 2 is not a probability");
    test::check_throws<ValueError>([&] { calibration_error(p, all, 0); },
                                   "calibration_curve: needs 1 to 1000000 bins, got 0");
}

TEST_CASE("metrics: numbers as scikit-learn scores them") {
    for (const JsonNode& one : fixture().root().at("numbers").elements()) {
        CAPTURE(one.get<std::string>("name"));
        const Tensor x = vector_of(one, "x", DType::f64), y = vector_of(one, "y", DType::f64);
        CHECK(mean_absolute_error(x, y) == near(one.get<double>("mae")));
        CHECK(root_mean_squared_error(x, y) == near(one.get<double>("rmse")));
        CHECK(r2_score(x, y) == near(one.get<double>("r2")));
        for (const double q : {0.1, 0.5, 0.9}) {
            const double wanted = one.at("quantiles").get<double>(fmt::format("{}", q));
            CHECK(mean_quantile_error(x, y, q) == near(wanted));
            CHECK(quantile_loss(x, y, q).item() == near(wanted));  // the loss is the same number
        }
    }
    const Tensor same = ones({3});
    CHECK_EQ(r2_score(same, same), 1);
    CHECK_EQ(r2_score(same * 2, same), 0);
    CHECK(std::isnan(r2_score(same * std::numeric_limits<double>::quiet_NaN(), same)));
    CHECK(std::isnan(mean_absolute_error(zeros({0}), zeros({0}))));
    test::check_throws<ShapeError>(
        [&] {
            r2_score(same, ones({3, 1}));
        },
        "r2_score: shapes differ: [3] and [3, 1]");
    test::check_throws<ValueError>([&] { mean_quantile_error(same, same, 1); },
                                   "mean_quantile_error: q must be between 0 and 1, got 1");
}
