// Learns y = 2 x + 1 by gradient descent, using the installed package.
#include <fmt/core.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>

#include <cmath>

int main() {
    using namespace tapestry;
    const Tensor x = tensor<float>({-1, 0, 1, 2});
    const Tensor y = 2 * x + 1;
    Tensor a = scalar(0).set_requires_grad();
    Tensor b = scalar(0).set_requires_grad();
    for (int step = 0; step < 200; ++step) {
        Tape tape;
        tape.backward(mean(square(a * x + b - y)));
        for (Tensor* p : {&a, &b}) {
            p->copy_(*p - 0.2 * p->grad());
            p->clear_grad();
        }
    }
    fmt::print("y = {:.3f} x + {:.3f}\n", a.item(), b.item());
    return std::abs(a.item() - 2) < 1e-3 && std::abs(b.item() - 1) < 1e-3 ? 0 : 1;
}
