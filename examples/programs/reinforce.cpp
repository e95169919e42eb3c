// REINFORCE: a policy learns to balance a pole on a cart by trial and error, with 32 carts in
// parallel for at most 200 steps. The cart: Barto, Sutton and Anderson 1983; the rule: Williams
// 1992.
#include <tapestry/tapestry.h>

using namespace tapestry;

namespace {

constexpr std::int64_t kCarts = 32, kLongest = 200, kRounds = 60;
constexpr double kDiscount = 0.98;

struct Carts {
    Tensor state;  // [N, 4]: position, velocity, angle of the pole, angular velocity

    explicit Carts(Generator& generator) : state(uniform({kCarts, 4}, -0.05, 0.05, generator)) {}

    // Pushes for 0.02 s with 10 N, to the right where right [N, 1] is 1, else to the left.
    void push(const Tensor& right) {
        const Tensors s = split(state, 1, 1);
        const Tensor& angle = s[2];
        const Tensor across = cos(angle), along = sin(angle);
        const Tensor thrust = (20.0 * right - 10.0 + 0.05 * square(s[3]) * along) / 1.1;
        const Tensor turn =
            (9.8 * along - across * thrust) / (0.5 * (4.0 / 3 - square(across) * (0.1 / 1.1)));
        const Tensor pull = thrust - turn * across * (0.05 / 1.1);
        state = state + 0.02 * concat({s[1], pull, s[3], turn}, 1);
    }

    // 1 where the pole is up and the cart on its track, else 0; [N, 1].
    Tensor standing() const {
        const Tensor limits = tensor<float>({{2.4F, 1e9F, 0.2095F, 1e9F}});
        return 1.0 - max(to(gt(abs(state), limits), DType::f32), {1}, true);
    }
};

// States, actions and returns of 32 carts, step by step, [T N, ...].
struct Experience {
    Tensor states, right, gains, lived;
    double length = 0;  // mean number of steps
};

Experience play(const Sequential& policy, Generator& generator) {
    Carts carts(generator);
    Tensors states, right, lived;
    Tensor alive = ones({kCarts, 1});
    while (std::ssize(states) < kLongest && sum(alive).item() > 0) {
        states.push_back(carts.state);
        lived.push_back(alive);
        const Tensor chance = sigmoid(policy(carts.state));
        right.push_back(to(lt(rand(chance.shape(), generator), chance), DType::f32));
        carts.push(right.back());
        alive = alive * carts.standing();
    }
    Tensors gains(states.size());  // discounted sums of 1 per step to come
    Tensor gain = zeros({kCarts, 1});
    for (std::size_t t = states.size(); t-- > 0;) {
        gain = lived[t] * (1.0 + kDiscount * gain);
        gains[t] = gain;
    }
    const double steps = sum(concat(lived, 0)).item();
    return {concat(states, 0), concat(right, 0), concat(gains, 0), concat(lived, 0),
            steps / kCarts};
}

}  // namespace

int main() {
    Generator generator(1);
    Sequential policy;  // state -> the log odds of pushing to the right
    policy.add<Linear>(4, 32, generator);
    policy.add<Tanh>();
    policy.add<Linear>(32, 1, generator);
    Adam optimizer(policy, {.lr = 1e-2});
    double length = 0;
    for (std::int64_t round = 0; round <= kRounds; ++round) {
        const Experience e = play(policy, generator);
        length = e.length;
        if (round % 10 == 0)
            fmt::print("round {:2}: the pole stood {:3.0f} steps\n", round, length);
        const double n = sum(e.lived).item();
        const Tensor better = e.gains - sum(e.gains) / n;  // than average
        const Tensor weight = e.lived * better / sqrt(sum(e.lived * square(better)) / n);
        Tape tape;
        const Tensor logits = policy(e.states);
        const Tensor loss = binary_cross_entropy_with_logits(  // -log p(action)
            logits, e.right, {.weight = weight, .reduction = Reduction::sum});
        optimizer.zero_grad();
        tape.backward(loss / n);
        optimizer.step();
    }
    return length > 150 ? 0 : 1;
}
