// Datasets and batches: which examples appear, in what order, and where a resumed loader starts.
#include <tapestry/nn/data/data_loader.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <cmath>

using namespace tapestry;
using test::check_throws;
using Ids = std::vector<std::int64_t>;

namespace {

// Example i is (10 i, 10 i + 1) with the label i.
TensorDataset<2> numbers(std::int64_t n) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < n; ++i) {
        values.push_back(static_cast<float>(10 * i));
        values.push_back(static_cast<float>(10 * i + 1));
    }
    return TensorDataset(tensor(values, {n, 2}), arange(n));
}

Ids ids_of(const Tensor& labels) { return labels.to_vector<std::int64_t>(); }

// The labels of the rest of the epoch, batch by batch; checks the examples against them.
std::vector<Ids> epoch_of(DataLoader<2>& loader) {
    std::vector<Ids> batches;
    for (const auto& [values, labels] : loader) {
        batches.push_back(ids_of(labels));
        CHECK_EQ(values.shape(), Shape{labels.size(0), 2});
        for (std::int64_t i = 0; i < labels.size(0); ++i) {
            CHECK_EQ(values.at({i, 1}), 10 * labels.at({i}) + 1);
        }
    }
    return batches;
}

Ids joined(const std::vector<Ids>& batches) {
    Ids all;
    for (const Ids& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
    return all;
}

Ids sorted(Ids ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
}

}  // namespace

TEST_CASE("data loader: in order, the last batch kept or dropped") {
    DataLoader kept(numbers(7), {.batch_size = 3});
    CHECK_EQ(kept.size(), 3);
    const std::vector<Ids> whole{{0, 1, 2}, {3, 4, 5}, {6}};
    CHECK_EQ(epoch_of(kept), whole);
    CHECK_EQ(kept.epoch(), 1);
    CHECK_EQ(epoch_of(kept), whole);
    DataLoader dropped(numbers(7), {.batch_size = 3, .drop_last = true});
    CHECK_EQ(epoch_of(dropped), std::vector<Ids>{{0, 1, 2}, {3, 4, 5}});
    DataLoader even(numbers(6), {.batch_size = 3});
    CHECK_EQ(even.size(), 2);
    DataLoader singles(numbers(2));
    CHECK_EQ(epoch_of(singles), std::vector<Ids>{{0}, {1}});
}

TEST_CASE("data loader: shuffled, every epoch has each example once in a different order") {
    const DataLoaderOptions options{.batch_size = 16, .shuffle = true, .seed = 5};
    DataLoader loader(numbers(100), options), same(numbers(100), options);
    const Ids first = joined(epoch_of(loader)), second = joined(epoch_of(loader));
    CHECK_EQ(sorted(first), ids_of(arange(100)));
    CHECK_EQ(sorted(second), ids_of(arange(100)));
    CHECK_NE(first, sorted(first));
    CHECK_NE(first, second);
    CHECK_EQ(joined(epoch_of(same)), first);
    DataLoader other(numbers(100), {.batch_size = 16, .shuffle = true, .seed = 6});
    CHECK_NE(joined(epoch_of(other)), first);
}

TEST_CASE("data loader: continues from a position, after a break, and one batch at a time") {
    const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .seed = 1};
    DataLoader loader(numbers(10), options), later(numbers(10), options);
    std::vector<Ids> wanted;
    for (int i = 0; i < 6; ++i) wanted.push_back(ids_of(loader.next()[1]));  // two epochs

    for (const auto& [values, labels] : later) {
        CHECK_EQ(ids_of(labels), wanted[0]);
        break;
    }
    CHECK_EQ(later.position(), 1);
    CHECK_EQ(epoch_of(later), std::vector<Ids>(wanted.begin() + 1, wanted.begin() + 3));
    CHECK_EQ(later.position(), 3);
    later.set_position(4);
    CHECK_EQ(later.epoch(), 1);
    CHECK_EQ(epoch_of(later), std::vector<Ids>(wanted.begin() + 4, wanted.end()));
    check_throws<ValueError>([&] { later.set_position(-1); },
                             "DataLoader: position must be >= 0, got -1");
}

TEST_CASE("data loader: what is refused") {
    check_throws<ValueError>([] { DataLoader(numbers(7), {.batch_size = 0}); },
                             "DataLoader: batch must be positive, got 0");
    check_throws<ValueError>([] { DataLoader(numbers(0), {.batch_size = 4}); },
                             "DataLoader: 0 examples are too few for a batch of 4");
    CHECK_THROWS_AS(DataLoader(numbers(3), {.batch_size = 4, .drop_last = true}), ValueError);
    check_throws<ShapeError>(
        [] {
            TensorDataset(ones({3, 2}), ones({4}));
        },
        "TensorDataset: 3 examples in [3, 2], but 4 in [4]");
    check_throws<ShapeError>([] { TensorDataset(ones({3}), scalar(1)); },
                             "TensorDataset: a tensor of rank 0 has no examples");
    CHECK_THROWS_AS(TensorDataset{Tensor()}, ShapeError);
}

TEST_CASE("dataset: parts hold every example once when the fractions exceed 1 by rounding") {
    const std::int64_t n = 1'500'000;
    const TensorDataset<1> dataset(arange(n));
    Generator generator(1);
    const auto parts = random_split(dataset, {0.5, 0.5000009}, generator);
    std::vector<bool> seen(static_cast<std::size_t>(n));
    std::int64_t count = 0;
    for (const auto& part : parts) {
        count += part.size();
        for (const std::int64_t id : ids_of(part.tensors()[0])) {
            seen[static_cast<std::size_t>(id)] = true;
        }
    }
    CHECK_EQ(count, n);
    CHECK_EQ(std::count(seen.begin(), seen.end(), true), n);
    check_throws<ValueError>(
        [&] {
            random_split(dataset, {HUGE_VAL, 0.0});
        },
        "random_split: the fractions must sum to 1, got inf");
}

TEST_CASE("dataset: examples by number, and parts by chance") {
    const TensorDataset<2> dataset = numbers(11);
    CHECK_EQ(dataset.size(), 11);
    CHECK_EQ(ids_of(dataset.examples(tensor<std::int64_t>({7, 0}))[1]), Ids{7, 0});
    CHECK_THROWS_AS(dataset.examples(tensor<std::int64_t>({11})), IndexError);

    Generator generator(1), same(1);
    const auto [train, held_out, rest] = random_split(dataset, {0.5, 0.25, 0.25}, generator);
    CHECK_EQ(train.size(), 6);  // 5, 2 and 2, plus two
    CHECK_EQ(held_out.size(), 3);
    CHECK_EQ(rest.size(), 2);
    Ids all = ids_of(train.tensors()[1]);
    CHECK_NE(all, sorted(all));
    for (const auto& part : {held_out, rest}) {
        const Ids ids = ids_of(part.tensors()[1]);
        all.insert(all.end(), ids.begin(), ids.end());
    }
    CHECK_EQ(sorted(all), ids_of(arange(11)));
    CHECK_EQ(ids_of(random_split(dataset, {0.5, 0.25, 0.25}, same)[0].tensors()[1]),
             ids_of(train.tensors()[1]));
    check_throws<ValueError>(
        [&] {
            random_split(dataset, {0.5, 0.25});
        },
        "random_split: the fractions must sum to 1, got 0.75");
    check_throws<ValueError>(
        [&] {
            random_split(dataset, {1.5, -0.5});
        },
        "random_split: fraction must be >= 0, got -0.5");
}
