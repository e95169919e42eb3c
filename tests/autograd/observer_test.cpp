// TapeObserver: which observers are notified, of which events and in which order; and that
// gradients changed there count.
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/tests/autograd/support.h>

#include <cmath>
#include <memory>
#include <string>

using namespace tapestry;
using test::leaf;
using test::values;
using test::Values;

namespace {

using Notes = std::vector<std::string>;

// Logs its notifications under a name.
class Scribe final : public TapeObserver {
public:
    Scribe(std::string name, Notes& notes) : name_(std::move(name)), notes_(notes) {}

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        notes_.push_back(fmt::format("{} sees {} of {} give {}", name_, op.described(),
                                     inputs.size(), outputs.at(0).shape()));
    }
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override {
        notes_.push_back(fmt::format("{} sees {} walked, {} to {}", name_, op.described(),
                                     incoming.size(), outgoing.size()));
    }

private:
    std::string name_;
    Notes& notes_;
};

}  // namespace

TEST_CASE("observer: notified of records and of the walk, in order of construction") {
    Notes notes;
    const Tensor x = leaf({1, 2});
    Tape tape;
    const Tensor before = exp(x);  // no observer yet
    const Scribe first("A", notes);
    {
        const Scribe second("B", notes);
        const Tensor y = sin(before) * x;
        CHECK_EQ(notes, Notes{"A sees sin (#1) of 1 give [2]", "B sees sin (#1) of 1 give [2]",
                              "A sees mul (#2) of 2 give [2]", "B sees mul (#2) of 2 give [2]"});
        notes.clear();
        tape.gradient(sum(y), {x}, {.retain = true});
        CHECK_EQ(notes, Notes{"A sees sum (#3) of 1 give []", "B sees sum (#3) of 1 give []",
                              "A sees sum (#3) walked, 1 to 1", "B sees sum (#3) walked, 1 to 1",
                              "A sees mul (#2) walked, 1 to 2", "B sees mul (#2) walked, 1 to 2",
                              "A sees sin (#1) walked, 1 to 1", "B sees sin (#1) walked, 1 to 1",
                              "A sees exp (#0) walked, 1 to 1", "B sees exp (#0) walked, 1 to 1"});
        notes.clear();
    }
    const Tensor after = exp(x);
    CHECK_EQ(notes, Notes{"A sees exp (#4) of 1 give [2]"});
}

TEST_CASE("observer: what is not recorded is not told") {
    Notes notes;
    const Scribe scribe("A", notes);
    const Tensor x = leaf({1, 2});
    exp(x);  // no tape
    Tape tape;
    exp(x.detach());  // not followed
    {
        const NoGradGuard no_grad;
        exp(x);
    }
    CHECK(notes.empty());
}

TEST_CASE("observer: it is shown the numbers, with the op on its tape") {
    struct Eye final : TapeObserver {
        void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
            CHECK_EQ(Tape::current()->entries().back().get(), &op);
            seen = {values(inputs.at(0)), values(outputs.at(0))};
        }
        void walked(Op&, const Tensors& incoming, Tensors& outgoing) override {
            seen = {values(incoming.at(0)), values(outgoing.at(0))};
        }
        std::vector<Values> seen;
    };
    Eye eye;
    const Tensor x = leaf({3, -2});
    Tape tape;
    const Tensor y = square(x);
    CHECK_EQ(eye.seen, std::vector<Values>{{3, -2}, {9, 4}});
    tape.gradient(y, {x}, {.cotangent = tensor<double>({1, 10})});
    CHECK_EQ(eye.seen, std::vector<Values>{{1, 10}, {6, -40}});
}

TEST_CASE("observer: gradients it changes stay changed, one observer after the other") {
    struct Adds final : TapeObserver {
        explicit Adds(double by) : by_(by) {}
        void walked(Op& op, const Tensors&, Tensors& outgoing) override {
            if (op.name() == "sin") outgoing[0] = outgoing[0] * 10.0 + by_;
        }
        double by_;
    };
    const Tensor x = leaf({0});
    Tape tape;
    const Tensor y = sin(x * 2.0);
    const Adds first(1);
    const Adds second(2);
    CHECK_EQ(values(tape.gradient(y, {x}, {.retain = true})[0]),
             Values{((1 * 10 + 1) * 10 + 2) * 2});
    tape.backward(y);
    CHECK_EQ(values(x.grad()), Values{224});
}

TEST_CASE("observer: it may run ops and differentiate, and is notified of those as well") {
    struct Curious final : TapeObserver {
        void recorded(const Op& op, const Tensors& inputs, const Tensors&) override {
            ++told;
            if (busy) return;
            busy = true;
            Tape tape;
            const Tensor x = inputs[0].detach().clone().set_requires_grad();
            const Tensor y = op.forward({x})[0];
            slope = values(tape.gradient(sum(y), {x})[0]);
            busy = false;
        }
        int told = 0;
        bool busy = false;
        Values slope;
    };
    Curious curious;
    const Tensor x = leaf({3});
    Tape tape;
    const Tensor y = square(x);
    CHECK_EQ(curious.slope, Values{6});
    CHECK_EQ(curious.told, 3);  // square, and its own square and sum
    CHECK_EQ(Tape::current(), &tape);
    CHECK_EQ(tape.entries().size(), 1);
    CHECK_EQ(values(tape.gradient(y, {x})[0]), Values{6});
}

TEST_CASE("observer: observers may come and go while they are notified") {
    Notes notes;
    struct Host final : TapeObserver {
        explicit Host(Notes& to) : notes(to) {}
        void recorded(const Op&, const Tensors&, const Tensors&) override {
            if (guest == nullptr) guest = std::make_unique<Scribe>("guest", notes);
        }
        void walked(Op&, const Tensors&, Tensors&) override { guest.reset(); }
        Notes& notes;
        std::unique_ptr<Scribe> guest;
    };
    Host host(notes);
    const Tensor x = leaf({3});
    Tape tape;
    const Tensor y = exp(x);  // the guest is added, and is notified at once
    CHECK_EQ(notes, Notes{"guest sees exp (#0) of 1 give [1]"});
    tape.gradient(y, {x});  // and is removed before it is notified
    CHECK_EQ(notes.size(), 1);
}

namespace {

// Logs every rule that has run, and every completed leaf with its gradient.
class Order final : public TapeObserver {
public:
    explicit Order(std::vector<std::pair<std::string, Tensor>> leaves)
        : leaves_(std::move(leaves)) {}
    void walked(Op& op, const Tensors&, Tensors&) override { notes.push_back(op.name()); }
    void completed(Leaf& leaf) override {
        for (const auto& [name, x] : leaves_) {
            if (x.leaf().get() == &leaf)
                notes.push_back(name + fmt::format(" {:.9g}", leaf.grad.item()));
        }
    }
    Notes notes;

private:
    std::vector<std::pair<std::string, Tensor>> leaves_;
};

std::string grad_of(const char* name, double number) {
    return fmt::format("{} {:.9g}", name, number);
}

}  // namespace

TEST_CASE("observer: a leaf is complete when the entry that read it first has been walked") {
    const Tensor a = leaf({2}), b = leaf({3}), c = leaf({5}), unused = leaf({7}),
                 frozen = leaf({9});
    Order order({{"a", a}, {"b", b}, {"c", c}, {"unused", unused}, {"frozen", frozen}});
    Tape tape;
    const Tensor y = sin(b) * a;  // b is used again below,
    const Tensor squared = square(y);
    const Tensor z = squared + b * frozen;  // at another place
    exp(unused);                            // on the tape, but not on the path
    frozen.leaf()->requires_grad = false;
    tape.backward(sum(z + c) * 2.0);
    const double db = frozen.item() + 2 * y.item() * std::cos(3) * 2;
    CHECK_EQ(order.notes,
             Notes{"mul", "sum", "add", grad_of("c", 2), "add", "mul", "square", "mul",
                   grad_of("a", 4 * y.item() * std::sin(3)), "sin", grad_of("b", 2 * db)});
}

TEST_CASE("observer: a leaf is complete as soon inside of what is recomputed") {
    const Tensor a = leaf({2}), b = leaf({3}), c = leaf({5});
    Order order({{"a", a}, {"b", b}, {"c", c}});
    Tape tape;
    const Tensor x = a * 1.0;  // a is used before, so it is not complete inside
    const auto inner = [&](const Tensor& h) { return exp(h * c) * a; };
    const auto outer = [&](const Tensor& h) { return recompute(inner, sin(h * b)) * b; };
    tape.backward(recompute(outer, x));
    const Notes names{"mul", "mul", "exp", "mul", "c", "sin", "mul", "b", "mul", "a"};
    REQUIRE_EQ(order.notes.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK_EQ(order.notes[i].find(names[i]), 0);
}

TEST_CASE("observer: gradient() reports no completed leaf; backward() of a leaf does") {
    const Tensor a = leaf({2});
    Order order({{"a", a}});
    Tape tape;
    const Tensor y = exp(a);
    tape.gradient(y, {a}, {.retain = true});
    CHECK_EQ(order.notes, Notes{"exp"});
    tape.backward(a);
    CHECK_EQ(order.notes, Notes{"exp", grad_of("a", 1)});
    CHECK_EQ(values(a.grad()), Values{1});
}
