// The exception hierarchy and the form of its messages.
#include <tapestry/tests/core/support.h>

#include <stdexcept>

using namespace tapestry;
using tapestry::test::check_throws;

TEST_CASE("error: fail and require") {
    check_throws<ValueError>([] { fail("op: {} is not {}", 1, "two"); }, "op: 1 is not two");
    check_throws<ShapeError>([] { fail<ShapeError>("op: {}", Shape{2, 3}); }, "op: [2, 3]");
    check_throws<DTypeError>([] { require<DTypeError>(false, "op: {}", DType::i64); }, "op: i64");
    CHECK_NOTHROW(require<IoError>(true, "op: {}", 1));
}

TEST_CASE("error: one family") {
    CHECK_THROWS_AS(fail<ShapeError>("x"), Error);
    CHECK_THROWS_AS(fail<DTypeError>("x"), Error);
    CHECK_THROWS_AS(fail<ValueError>("x"), Error);
    CHECK_THROWS_AS(fail<IndexError>("x"), Error);
    CHECK_THROWS_AS(fail<AutogradError>("x"), Error);
    CHECK_THROWS_AS(fail<MemoryError>("x"), Error);
    CHECK_THROWS_AS(fail<IoError>("x"), Error);
    CHECK_THROWS_AS(fail<Error>("x"), std::runtime_error);
}
