// The tape as a graph for Graphviz, and the numbers of every rule.
#include <doctest/doctest.h>
#include <tapestry/autograd/dot.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>

#include <string>

using namespace tapestry;

TEST_CASE("dot: a box for each operation, an arrow for each tensor that flows") {
    Tensor x = tensor<float>({1, 2}), w = tensor<float>({3, 4});
    x.set_requires_grad();
    w.set_requires_grad();
    Tape tape;
    const Tensor y = x * w;
    const ModuleScope scope("layer\"1\"");
    const Tensor z = sum(y + x * 2);
    const std::string wanted = R"(digraph tape {
    rankdir=LR
    node [shape=box]
    op0 [label="#0 mul"]
    leaf0 [label="leaf [2]", shape=ellipse]
    leaf0 -> op0 [label="[2]"]
    leaf1 [label="leaf [2]", shape=ellipse]
    leaf1 -> op0 [label="[2]"]
    op1 [label="#1 mul\nlayer\"1\""]
    leaf0 -> op1 [label="[2]"]
    op2 [label="#2 add\nlayer\"1\""]
    op0 -> op2 [label="[2]"]
    op1 -> op2 [label="[2]"]
    op3 [label="#3 sum\nlayer\"1\""]
    op2 -> op3 [label="[2]"]
}
)";
    std::string escaped = wanted;  // quotes in names
    for (std::size_t at = 0; (at = escaped.find("layer\"1\"", at)) != std::string::npos; ++at) {
        escaped.replace(at, 8, "layer\\\"1\\\"");
    }
    CHECK_EQ(to_dot(tape), escaped);
    Tape empty;
    CHECK_EQ(to_dot(empty), "digraph tape {\n    rankdir=LR\n    node [shape=box]\n}\n");
}

TEST_CASE("dot: the numbers of every rule") {
    Tensor x = tensor<float>({1, 2}), w = tensor<float>({3, 4});
    x.set_requires_grad();
    w.set_requires_grad();
    TapeNumbers numbers;
    Tape tape;
    tape.backward(sum(x * w));
    CHECK_EQ(numbers.text(),
             "#0 mul: [1. 2.], [3. 4.] -> [3. 8.]\n"
             "#1 sum: [3. 8.] -> 11.0\n"
             "gradient of #1 sum: 1.0 -> [1. 1.]\n"
             "gradient of #0 mul: [1. 1.] -> [3. 4.], [1. 2.]\n");
}
