// Encodings of positions of your own, registered by name.
#include <tapestry/core/create.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/layers/position_form.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/subscript.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <memory>
#include <string>
#include <vector>

using namespace tapestry;

namespace {

// Adds t / count times a learned vector.
struct Ramp : PositionForm {
    Tensor slope;
    std::int64_t count;
    Ramp(std::int64_t positions, std::int64_t dim, Generator& g)
        : PositionForm("Ramp"), count(positions) {
        slope = randn({dim}, g);
        register_parameter("slope", slope);
    }
    Tensor operator()(const Tensor& x, std::int64_t first) const override {
        const Tensor t = arange(first, first + x.size(1)).to(x.dtype()).reshape(x.size(1), 1);
        return hooked(x + t / static_cast<double>(count) * slope, x);
    }
};

void register_ramp() {
    static const bool once = [] {
        register_position_form("ramp", [](std::int64_t count, std::int64_t dim, Generator& g) {
            return std::make_unique<Ramp>(count, dim, g);
        });
        return true;
    }();
    REQUIRE(once);
}

}  // namespace

TEST_CASE("positions: a form by name is trained, sampled and saved with the model") {
    register_ramp();
    const test::Scratch scratch;
    Generator g(7);
    GPTConfig config{.vocab = 3,
                     .context = 8,
                     .layers = 1,
                     .heads = 2,
                     .dim = 8,
                     .positions = Positions::none,
                     .position_form = "ramp"};
    GPT gpt(config, g);
    const Tensor ids = tensor<std::int64_t>({{0, 1, 2, 1}});
    {
        Tape tape;
        tape.backward(square(gpt(ids)).mean());
    }
    const auto& ramp = dynamic_cast<const Ramp&>(*gpt.position_form->get());
    CHECK_GT(ramp.slope.grad().abs().sum().item<double>(), 0);
    CHECK_EQ(ramp.count, config.context);
    gpt.eval();
    std::vector<KeyValueCache> caches;  // token by token, as a sample is written
    const Tensor whole = gpt(ids);
    for (std::int64_t t = 0; t < ids.size(1); ++t) {
        const Tensor one = gpt(narrow(ids, 1, t, 1), {.caches = &caches});
        CHECK(allclose(one, narrow(whole, 1, t, 1), 1e-5, 1e-5));
    }
    const CharTokenizer tokenizer = CharTokenizer::from_text("abc");
    save_model(scratch / "m", gpt, tokenizer);
    const LoadedModel loaded = load_model(scratch / "m");
    loaded.model->eval();
    CHECK(allclose((*loaded.model)(ids), whole, 0, 0));
    CHECK_EQ(loaded.model->parameter_count(), gpt.parameter_count());
    CHECK(test::slurp(scratch / "m" / "config.json").find("\"position_form\": \"ramp\"") !=
          std::string::npos);
    config.positions = Positions::learned;
    test::check_throws<ValueError>([&] { GPT(config, g); },
                                   "GPT: position_form 'ramp' needs positions none, got learned");
    config.positions = Positions::none;
    config.position_form = "rampe";
    test::check_throws<ValueError>(
        [&] { GPT(config, g); }, "positions: no form 'rampe' is registered; there are none, ramp");
    test::check_throws<ValueError>([] { register_position_form("none", {}); },
                                   "register_position_form: 'none' has no factory");
    test::check_throws<ValueError>(
        [] {
            register_position_form("ramp", [](std::int64_t count, std::int64_t dim, Generator& of) {
                return std::make_unique<Ramp>(count, dim, of);
            });
        },
        "register_position_form: the name 'ramp' is taken");
}
