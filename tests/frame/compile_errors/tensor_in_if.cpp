// -std=c++20
// Tensor
#include <tapestry/tapestry.h>

using namespace tapestry;

int main() {
    const Tensor a = ones(2), b = ones(2);
    if (a == b) return 1;
    return 0;
}
