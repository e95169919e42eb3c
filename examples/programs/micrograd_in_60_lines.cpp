// Autograd on single numbers in sixty lines of standard C++: the idea of Tapestry without tensors,
// kernels and modules. After Andrej Karpathy's micrograd.
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

// The tape: for each number computed, how to pass its gradient on to its inputs.
struct Entry {
    double value, grad;
    std::function<void(double)> pass_on;
};
std::vector<Entry> tape;

struct Value {
    std::size_t at;
    double value() const { return tape[at].value; }
    double grad() const { return tape[at].grad; }
};
Value put(double value, std::function<void(double)> pass_on) {
    tape.push_back({value, 0, std::move(pass_on)});
    return {tape.size() - 1};
}
Value leaf(double value) { return put(value, {}); }
void send(Value to, double grad) { tape[to.at].grad += grad; }

// Each operation: its value and its local chain rule.
Value operator+(Value a, Value b) {
    return put(a.value() + b.value(), [=](double g) { send(a, g), send(b, g); });
}
Value operator*(Value a, Value b) {
    return put(a.value() * b.value(),
               [=](double g) { send(a, g * b.value()), send(b, g * a.value()); });
}
Value tanh(Value x) {
    const double y = std::tanh(x.value());
    return put(y, [=](double g) { send(x, g * (1 - y * y)); });
}

// Backward, from last to first: an entry's gradient is complete once all later entries have run.
void backward(Value loss) {
    tape[loss.at].grad = 1;
    for (std::size_t i = loss.at + 1; i-- > 0;) {
        if (tape[i].pass_on) tape[i].pass_on(tape[i].grad);  // leaves have none
    }
}

int main() {  // one neuron learns to answer 0.8 to the inputs (1, -2)
    double w1 = 0.3, w2 = -0.1, bias = 0, loss_value = 0;
    for (int step = 0; step <= 40; ++step) {
        tape.clear();
        const Value a = leaf(w1), b = leaf(w2), c = leaf(bias);
        const Value error = tanh(a * leaf(1) + b * leaf(-2) + c) + leaf(-0.8);
        const Value loss = error * error;
        backward(loss);
        w1 -= 0.1 * a.grad(), w2 -= 0.1 * b.grad(), bias -= 0.1 * c.grad();
        if (step % 10 == 0) std::printf("step %2d  loss %.6f\n", step, loss_value = loss.value());
    }
    return loss_value < 1e-4 ? 0 : 1;
}
