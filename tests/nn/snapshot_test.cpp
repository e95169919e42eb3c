// A snapshot keeps its numbers, whatever training changes afterwards.
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;

TEST_CASE("snapshot: the numbers of the moment it was taken, also after one that only referred") {
    Generator generator(1);
    Linear model(3, 2, generator);
    SGD optimizer(model, {.lr = 1});
    const Checkpoint checkpoint{.module = model, .optimizer = optimizer};
    const auto numbers = [](const NamedTensors& tensors) {
        return tensors.at(0).second.to_vector<double>();
    };
    const auto own = [&] { return model.named_parameters().at(0).second; };
    const auto change = [&] {
        const NoGradGuard guard;
        own().mutable_data<float>()[0] += 1;
    };

    Snapshot snapshot;
    snapshot.refer(checkpoint);
    CHECK_EQ(numbers(snapshot.weights()), own().to_vector<double>());
    change();
    CHECK_EQ(numbers(snapshot.weights()), own().to_vector<double>());  // shares memory

    for (int i = 0; i < 2; ++i) {
        snapshot.take(checkpoint);
        const auto taken = own().to_vector<double>();
        change();
        CHECK_EQ(numbers(snapshot.weights()), taken);
        CHECK_NE(own().to_vector<double>(), taken);
    }
}

TEST_CASE("snapshot: frozen parameters are not copied, and are once they train") {
    Generator generator(1);
    Linear model(3, 2, generator);
    model.freeze("bias");
    SGD optimizer(model, {.lr = 1});
    const Checkpoint checkpoint{.module = model, .optimizer = optimizer};
    const auto shares = [](const NamedTensors& tensors, std::size_t i, const Tensor& own) {
        return tensors.at(i).second.storage() == own.storage();
    };
    Snapshot snapshot;
    snapshot.take(checkpoint);
    CHECK_FALSE(shares(snapshot.weights(), 0, model.weight));
    CHECK(shares(snapshot.weights(), 1, model.bias));
    model.unfreeze("bias");
    SGD other(model, {.lr = 1});
    snapshot.take({.module = model, .optimizer = other});
    CHECK_FALSE(shares(snapshot.weights(), 1, model.bias));
    CHECK_EQ(snapshot.weights().at(1).second.to_vector<float>(), model.bias.to_vector<float>());
}
