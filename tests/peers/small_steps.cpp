// Training steps on small tensors, where the overhead of ops dominates; larger ones of the same
// kinds; convolutions with the digits' shapes; recurrent networks. One thread; prints a line of
// JSON, the median and the fastest CPU time of a step in seconds. peers.py does the same in
// PyTorch, and `run` alternates between both.
//
//     small_steps NAME STEPS
#include <tapestry/tapestry.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

using namespace tapestry;

namespace {

using Step = std::function<void()>;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Linear layers of these sizes, with an activation between them.
template <class Activation>
std::shared_ptr<Sequential> layers(const std::vector<std::int64_t>& sizes, Generator& generator) {
    auto network = std::make_shared<Sequential>();
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
        if (i > 0) network->add<Activation>();
        network->add<Linear>(sizes[i], sizes[i + 1], true, generator);
    }
    return network;
}

// u'' + u = 0 at n points, as in examples/programs/pinn.cpp, with Adam.
Step pinn(const std::vector<std::int64_t>& sizes, std::int64_t n) {
    Generator generator(1);
    auto network = layers<Tanh>(sizes, generator);
    auto optimizer = std::make_shared<Adam>(*network);
    Tensor t = unsqueeze(linspace(0, 3, n), 1);  // [n, 1]
    t.set_requires_grad();
    return [=] {
        Tape tape;
        const GradientOptions again{.create_graph = true};
        const Tensor u = (*network)(t);
        const Tensor first = tape.gradient(sum(u), {t}, again)[0];
        const Tensor second = tape.gradient(sum(first), {t}, again)[0];
        const Tensor loss = mean(square(second + u));
        optimizer->zero_grad();
        tape.backward(loss);
        optimizer->step();
    };
}

// Cross-entropy of `network` on one batch, with AdamW.
Step classifier(const std::shared_ptr<Sequential>& network, const Tensor& x) {
    Generator generator(2);
    auto optimizer = std::make_shared<AdamW>(*network);
    const Tensor labels = randint(0, 10, {x.size(0)}, generator);
    return [=] {
        Tape tape;
        const Tensor loss = cross_entropy((*network)(x), labels);
        optimizer->zero_grad();
        tape.backward(loss);
        optimizer->step();
    };
}

Step perceptron(const std::vector<std::int64_t>& sizes, std::int64_t batch) {
    Generator generator(1);
    auto network = layers<ReLU>(sizes, generator);
    return classifier(network, randn({batch, sizes.front()}, generator));
}

// The network of examples/school/tasks/shapes.h on 8 x 8 digits.
Step digits(std::int64_t batch) {
    Generator generator(1);
    auto network = std::make_shared<Sequential>();
    std::int64_t before = 1;
    for (const std::int64_t channels : {16, 32, 64}) {
        network->add<Conv2d>(before, channels, 3, Conv2dOptions{.padding = 1}, generator);
        network->add<BatchNorm2d>(channels);
        network->add<ReLU>();
        if (before > 1) network->add<MaxPool2d>(2);
        before = channels;
    }
    network->add<Flatten>();
    network->add<Linear>(256, 10, true, generator);
    return classifier(network, randn({batch, 1, 8, 8}, generator));
}

// One convolution of this size, forward and backward.
Step convolution(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t side) {
    Generator generator(1);
    auto layer = std::make_shared<Conv2d>(in, out, 3, Conv2dOptions{.padding = 1}, generator);
    Tensor x = randn({batch, in, side, side}, generator);
    x.set_requires_grad();
    const Tensor g = randn({batch, out, side, side}, generator);
    return [=] {
        Tape tape;
        tape.gradient(sum((*layer)(x)*g), {x, layer->weight, layer->bias});
    };
}

// 50 steps of 32 sequences, forward and backward.
Step recurrent(RecurrentCell cell) {
    Generator generator(1);
    const std::shared_ptr<Recurrent> layer =
        make_recurrent(cell, {.input = 64, .hidden = 128}, generator);
    const Tensor x = randn({32, 50, 64}, generator);
    return [=] {
        Tape tape;
        const Tensor loss = mean(square((*layer)(x).output));
        layer->zero_grad();
        tape.backward(loss);
    };
}

}  // namespace

int main(int count, char** arguments) {
    const std::map<std::string, std::function<Step()>> works{
        {"pinn32",
         [] {
             return pinn({1, 32, 32, 1}, 256);
         }},
        {"pinn128",
         [] {
             return pinn({1, 128, 128, 128, 1}, 64);
         }},
        {"pinn4096",
         [] {
             return pinn({1, 128, 128, 128, 1}, 4096);
         }},
        {"mlp64",
         [] {
             return perceptron({64, 128, 64, 10}, 32);
         }},
        {"mlp784",
         [] {
             return perceptron({784, 512, 512, 10}, 32);
         }},
        {"mlp256",
         [] {
             return perceptron({784, 512, 512, 10}, 256);
         }},
        {"digits", [] { return digits(64); }},
        {"conv16", [] { return convolution(64, 16, 32, 8); }},
        {"conv32", [] { return convolution(64, 32, 64, 4); }},
        {"lstm", [] { return recurrent(RecurrentCell::lstm); }},
        {"gru", [] { return recurrent(RecurrentCell::gru); }}};
    const auto work = works.find(count == 3 ? arguments[1] : "");
    if (work == works.end()) {
        std::fprintf(stderr, "usage: small_steps NAME STEPS\n");
        return 2;
    }
    set_num_threads(1);
    const Step step = work->second();
    std::vector<double> times;
    const int steps = std::atoi(arguments[2]);
    for (int i = 0; i < steps + 10; ++i) {
        const double begin = cpu_seconds();
        step();
        if (i >= 10) times.push_back(cpu_seconds() - begin);
    }
    std::sort(times.begin(), times.end());
    std::printf("{\"median\": %.9f, \"fastest\": %.9f}\n", times[times.size() / 2], times.front());
}
