// A tape for the blackboard: as a graph for Graphviz, and every number of every rule. For examples
// of a few numbers; nn/inspect shows those of a model.
//
//     std::ofstream("tape.dot") << to_dot(tape);     // dot -Tsvg tape.dot > tape.svg
//
//     TapeNumbers numbers;                           // before the tape is filled
//     Tape tape;
//     tape.backward(sum(x * w));
//     std::cout << numbers.text();
//
//       #0 mul: [1. 2.], [3. 4.] -> [3. 8.]
//       #1 sum: [3. 8.] -> 11.0
//       gradient of #1 sum: 1.0 -> [1. 1.]
//       gradient of #0 mul: [1. 1.] -> [3. 4.], [1. 2.]
//
// Entries are in the order in which they ran. In f(a) + g(b) C++ leaves open whether f or g runs
// first, and compilers differ; name the parts (const Tensor first = f(a);) where the order should
// be that of the page.
#pragma once

#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/tape.h>

#include <string>

namespace tapestry {

/// The tape in Graphviz' language: a box for each operation, "#0 mul", an ellipse for each leaf,
/// and an arrow with its shape for each tensor that flows. Constants are not drawn.
std::string to_dot(const Tape& tape);

/// Collects what is recorded and walked while it is alive, with all numbers.
class TapeNumbers : public TapeObserver {
public:
    /// The lines so far.
    const std::string& text() const { return text_; }

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override;
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override;

private:
    std::string text_;
};

}  // namespace tapestry
