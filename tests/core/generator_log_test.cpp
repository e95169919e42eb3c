#include <tapestry/core/generator_log.h>
#include <tapestry/tests/core/support.h>

using namespace tapestry;

TEST_CASE("generator log: first states, inner and outer, and the dead forgotten") {
    Generator a(1), b(2);
    a.next();
    const GeneratorLog outer;
    b.next();
    {
        const GeneratorLog inner;
        a.next();
        a.next();
        b.set_state(9, 9);
        { Generator(5).next(); }
        REQUIRE_EQ(inner.states().size(), 2);
        CHECK_EQ(inner.states()[0].generator, &a);
        CHECK_EQ(inner.states()[0].offset, 1);
        CHECK_EQ(inner.states()[1].offset, 1);
    }
    REQUIRE_EQ(outer.states().size(), 2);
    CHECK_EQ(outer.states()[0].generator, &b);
    CHECK_EQ(outer.states()[0].seed, 2);
    CHECK_EQ(outer.states()[0].offset, 0);
    CHECK_EQ(outer.states()[1].offset, 1);
}
