// The program that isa_reach.sh disassembles and runs: all of the library, linked, and a matrix
// product.
#include <tapestry/core/create.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>

#include <exception>

int main() {
    try {
        using namespace tapestry;
        const Tensor y = matmul(ones({33, 40}), ones({40, 50}));
        return sum(y).item<float>() == 33 * 40 * 50 ? 0 : 1;
    } catch (const std::exception&) {
        return 1;
    }
}
