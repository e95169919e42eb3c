// The first program to run: record four operations, print the tape, run backward.
#include <tapestry/tapestry.h>

using namespace tapestry;

int main() {
    Tensor x = tensor<double>({1, 2, 3}).set_requires_grad();
    Tensor w = tensor<double>({0.5, -1, 2}).set_requires_grad();

    Tape tape;                           // from here, ops that depend on x or w are recorded
    const Tensor y = tanh(x * w);        // two operations
    const Tensor loss = sum(square(y));  // two more
    fmt::print("{}\nloss = {}\n\n", tape, loss);

    tape.backward(loss);  // runs through the four rows from last to first
    fmt::print("d(loss)/dx = {}\nd(loss)/dw = {}\n\n", x.grad(), w.grad());

    // By hand: d(loss)/dx = 2 y (1 - y^2) w.
    const Tensor by_hand = 2.0 * y * (1.0 - square(y)) * w;
    fmt::print("by hand    = {}\n", by_hand);
    const bool same = max(abs(by_hand - x.grad())).item() < 1e-12;
    return same ? 0 : 1;
}
