// Exact text of printed tapes.
#include <tapestry/autograd/op.h>
#include <tapestry/autograd/print.h>
#include <tapestry/ops/join.h>
#include <tapestry/tests/autograd/support.h>

using namespace tapestry;
using test::leaf;
using test::scalar_leaf;

TEST_CASE("print: a small tape, before and after backward") {
    const Tensor x = leaf({1, 2, 3});
    const Tensor w = leaf({4, 5, 6});
    Tape tape;
    CHECK_EQ(to_string(tape),
             "tape: 0 operations, 0 B saved for backward\n"
             "  #  op  module  inputs -> outputs  saved\n");
    const Tensor y = sum(x * w + 1.0);
    CHECK_EQ(to_string(tape),
             "tape: 3 operations, 48 B saved for backward\n"
             "  #  op              module  inputs -> outputs           saved\n"
             "  0  mul                     leaf [3], leaf [3] -> [3]    48 B\n"
             "  1  add                     #0 [3], constant [] -> [3]    0 B\n"
             "  2  sum (axes=[0])          #1 [3] -> []                  0 B\n");
    tape.backward(y);
    CHECK_EQ(fmt::format("{}", tape),
             "tape: 3 operations, 0 B saved for backward\n"
             "  #  op              module  inputs -> outputs              saved\n"
             "  0  mul                     leaf [3], leaf [3] -> [3]   released\n"
             "  1  add                     #0 [3], constant [] -> [3]       0 B\n"
             "  2  sum (axes=[0])          #1 [3] -> []                     0 B\n");
}

TEST_CASE("print: module paths, attributes, several outputs") {
    const Tensor x = leaf({1, 2, 3});
    Tape tape;
    {
        const ModuleScope block("blocks.0");
        const ModuleScope inner("attention");
        exp(x);
    }
    const Tensors parts = split(x, {1, 2}, 0);
    neg(parts[1]);
    CHECK_EQ(to_string(tape),
             "tape: 3 operations, 24 B saved for backward\n"
             "  #  op              module              inputs -> outputs     saved\n"
             "  0  exp             blocks.0.attention  leaf [3] -> [3]        24 B\n"
             "  1  split (axis=0)                      leaf [3] -> [1], [2]    0 B\n"
             "  2  neg                                 #1 [2] -> [2]           0 B\n");
}

TEST_CASE("print: more than ten entries keep their columns") {
    Tensor x = scalar_leaf(1.0);
    const Tape tape;
    for (int i = 0; i < 11; ++i) x = neg(x);
    const std::string text = to_string(tape);
    CHECK(text.find("\n   #  op ") != std::string::npos);
    CHECK(text.find("\n   9  neg") != std::string::npos);
    CHECK(text.find("\n  10  neg          #9 [] -> []") != std::string::npos);
}

TEST_CASE("print: bytes") {
    CHECK_EQ(bytes_text(0), "0 B");
    CHECK_EQ(bytes_text(999), "999 B");
    CHECK_EQ(bytes_text(1000), "1.0 KB");
    CHECK_EQ(bytes_text(1549), "1.5 KB");
    CHECK_EQ(bytes_text(999'949), "999.9 KB");
    CHECK_EQ(bytes_text(999'950), "1.0 MB");
    CHECK_EQ(bytes_text(2'340'000'000), "2.3 GB");
    CHECK_EQ(bytes_text(5'000'000'000'000), "5.0 TB");
    CHECK_EQ(bytes_text(12'345'000'000'000'000), "12345.0 TB");
}
