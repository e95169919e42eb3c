// The module path that tape entries record.
#include <tapestry/autograd/op.h>
#include <tapestry/tests/autograd/support.h>

#include <optional>
#include <stdexcept>
#include <thread>

using namespace tapestry;
using test::leaf;

TEST_CASE("module path: nothing without a tape") {
    const ModuleScope scope("layer");
    CHECK_EQ(module_path(), "");
    {
        const Tape tape;
        CHECK_EQ(module_path(), "");
        const ModuleScope inner("inner");
        CHECK_EQ(module_path(), "inner");
        const NoGradGuard guard;
        const ModuleScope unseen("unseen");
        CHECK_EQ(module_path(), "inner");
    }
    CHECK_EQ(module_path(), "");
}

TEST_CASE("module path: scopes nest and end, with exceptions too") {
    const Tape tape;
    const ModuleScope model("");  // the outermost module has no name
    CHECK_EQ(module_path(), "");
    {
        const ModuleScope blocks("blocks.3");
        CHECK_EQ(module_path(), "blocks.3");
        {
            const ModuleScope attention("attention");
            const ModuleScope nameless("");
            const ModuleScope query("query");
            CHECK_EQ(module_path(), "blocks.3.attention.query");
        }
        CHECK_EQ(module_path(), "blocks.3");
        try {
            const ModuleScope norm("norm");
            throw std::runtime_error("out");
        } catch (const std::runtime_error&) {
            CHECK_EQ(module_path(), "blocks.3");
        }
    }
    CHECK_EQ(module_path(), "");
}

TEST_CASE("module path: a tape that begins or ends within a scope") {
    std::optional<Tape> tape(std::in_place);
    {
        const ModuleScope outer("outer");
        {
            const Tape inner;  // recomputation: the path continues
            const ModuleScope part("part");
            CHECK_EQ(module_path(), "outer.part");
        }
        CHECK_EQ(module_path(), "outer");
        tape.reset();
        const ModuleScope after("after");
        CHECK_EQ(module_path(), "outer");
    }
    CHECK_EQ(module_path(), "");
}

TEST_CASE("module path: entries take it along, and so does what backward records") {
    const Tensor x = leaf({1, 2});
    Tape tape;
    const Tensor y = [&] {
        const ModuleScope scope("layer");
        return exp(x);
    }();
    const Tensor z = sum(y);
    tape.gradient(z, {x}, {.create_graph = true});
    const auto& entries = tape.entries();
    REQUIRE_EQ(entries.size(), 3);  // exp, sum, and the product in exp's backward
    CHECK_EQ(entries[0]->module_path(), "layer");
    CHECK_EQ(entries[1]->module_path(), "");
    CHECK_EQ(entries[2]->name(), "mul");
    CHECK_EQ(entries[2]->module_path(), "layer");
    {
        const ModuleScope scope("layer");  // the same op, with backward inside its own scope
        tape.gradient(z, {x}, {.create_graph = true});
    }
    CHECK_EQ(entries.back()->module_path(), "layer");
}

TEST_CASE("module path: each thread has its own") {
    const Tape tape;
    const ModuleScope scope("here");
    std::string there = "unset";
    std::thread([&] { there = module_path(); }).join();
    CHECK_EQ(there, "");
    CHECK_EQ(module_path(), "here");
}
