// The Inspector: its record of small tapes equals results computed by hand.
#include <tapestry/core/create.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

using namespace tapestry;

namespace {

// Two parameters with known values, one of them unused.
class Pair : public Module {
public:
    Tensor w = tensor<float>({1, -2, 3});
    Tensor idle = tensor<float>({1, 1});
    Pair() : Module("Pair") {
        register_parameter("w", w);
        register_parameter("idle", idle);
    }
};

std::vector<std::string> names_of(const Inspector& inspector) {
    std::vector<std::string> names;
    for (const InspectedEntry& e : inspector.entries()) names.push_back(e.name);
    return names;
}

Tensor ids_of(std::vector<std::int64_t> ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    return tensor(ids, {1, count});
}

const GPTConfig kSmall{.vocab = 11, .context = 8, .layers = 2, .heads = 2, .dim = 8};

}  // namespace

TEST_CASE("inspect: entries, the walk, gradients and cotangents of a chain of three") {
    Pair model;
    Inspector inspector(model, {.flops_per_second = 1e9, .levels = {{512, 1e9}}});
    Tape tape;
    const Tensor loss = sum(model.w * model.w);  // sum w^2, whose gradient is 2 w
    tape.backward(loss);
    inspector.finish();

    CHECK_EQ(names_of(inspector), std::vector<std::string>{"mul", "sum"});
    const InspectedEntry& product = inspector.entries()[0];
    const InspectedEntry& total = inspector.entries()[1];
    CHECK_EQ(product.outputs[0].values.max, 9);
    CHECK_EQ(product.outputs[0].gradient->mean, 1);
    CHECK_EQ(total.outputs[0].values.mean, 14);
    CHECK_EQ(total.inputs[0].slot, product.outputs[0].slot);
    CHECK_EQ(inspector.place(product.inputs[0].slot).leaf, "w");
    CHECK_EQ(inspector.place(product.inputs[0].slot).entry, -1);
    CHECK_EQ(product.forward.flops, 3);
    CHECK_EQ(product.forward.bytes, 12 + 12);  // w once, and the result
    CHECK_EQ(product.forward.least, doctest::Approx(24e-9));
    CHECK_GT(product.forward.seconds, 0);

    REQUIRE_EQ(inspector.walk().size(), 2);
    const WalkStep& first = inspector.walk()[0];
    CHECK_EQ(first.entry, 1);
    CHECK_EQ(first.used, std::vector<int>{total.outputs[0].slot});
    CHECK_EQ(first.arrived, std::vector<int>{product.outputs[0].slot});
    CHECK_EQ(first.cotangent_bytes, 12);
    const WalkStep& second = inspector.walk()[1];
    CHECK_EQ(second.entry, 0);
    CHECK_EQ(second.arrived, std::vector<int>{product.inputs[0].slot});
    CHECK_EQ(product.step, 1);
    CHECK_EQ(total.step, 0);

    const InspectedParameter& w = inspector.parameters()[0];
    CHECK_EQ(w.gradient->min, -4);
    CHECK_EQ(w.gradient->max, 6);
    CHECK_EQ(w.gradient_histogram.first, 1);
    CHECK_EQ(w.gradient_histogram.counts, std::vector<std::int64_t>{1, 2});  // 2; 4 and 6
    CHECK_EQ(w.dead_end, "");
    CHECK_EQ(inspector.parameters()[1].dead_end, "no gradient: not used in this step");
}

TEST_CASE("inspect: a frozen parameter is named, and said to be frozen") {
    Pair model;
    model.freeze("idle");
    Inspector inspector(model);
    Tape tape;
    tape.backward(sum(sum(model.w) * model.idle));
    inspector.finish();
    const InspectedInput& idle = inspector.entries()[1].inputs[1];
    CHECK_EQ(idle.name, "idle");
    CHECK_EQ(idle.dead_end, "frozen");
    CHECK(idle.kind == InputKind::constant);
    CHECK_EQ(inspector.parameters()[1].dead_end, "frozen");
    CHECK_EQ(inspector.parameters()[0].dead_end, "");
}

TEST_CASE("inspect: dead ends say why") {
    Pair model;
    const Tensor constant = tensor<float>({1, 2, 3});
    Inspector inspector(model);
    Tape tape;
    const Tensor y = model.w * constant;                                      // 0
    const Tensor z = y * y.detach();                                          // 1
    const Tensor unused = exp(y) + sum(model.idle);                           // 2, 3, 4
    const Tensor rows = index_select(z, 0, tensor<std::int64_t>({0, 2, 2}));  // 5
    tape.backward(sum(rows));                                                 // 6
    inspector.finish();
    const auto& entries = inspector.entries();
    REQUIRE_EQ(entries.size(), 7);
    CHECK_EQ(entries[0].inputs[0].dead_end, "");
    CHECK_EQ(entries[0].inputs[1].dead_end, "constant: no gradient asked for");
    CHECK_EQ(entries[1].inputs[1].dead_end, "detached");
    for (const std::size_t i : {2U, 3U, 4U}) {
        CHECK_EQ(entries[i].dead_end, "no gradient: not on a path to the loss");
        CHECK_EQ(entries[i].step, -1);
        CHECK_FALSE(entries[i].outputs[0].gradient.has_value());
    }
    CHECK_EQ(entries[6].dead_end, "");
    CHECK_EQ(inspector.parameters()[1].dead_end, "no gradient: not on a path to the loss");
}

TEST_CASE("inspect: integer and boolean inputs have no gradient, and nothing has before backward") {
    struct ScaledOp final : Op {  // the library's ops keep their integer inputs in the op itself
        ScaledOp() : Op("scaled") {}
        Tensors forward(const Tensors& x) const override { return {x[0].clone()}; }
        Tensors backward(const Tensors& grads) override { return {grads[0], {}, {}}; }
    };
    Pair model;
    Inspector inspector(model);
    Tape tape;
    Tensor y = model.w.clone();
    y = record<ScaledOp>({model.w, tensor<std::int64_t>({2}), ones({1}, DType::boolean)}, y);
    inspector.finish();
    const InspectedEntry& entry = inspector.entries().at(0);
    CHECK_EQ(entry.dead_end, "no gradient: backward did not run");
    CHECK_EQ(entry.inputs[0].dead_end, entry.dead_end);
    CHECK_EQ(entry.inputs[1].dead_end, "integer input");
    CHECK_EQ(entry.inputs[2].dead_end, "boolean input");
    CHECK(inspector.walk().empty());
}

TEST_CASE("inspect: births, deaths, the peak, and what a step of the walk frees") {
    Pair model;
    model.w = zeros({1000}).set_requires_grad();  // 4000 B; blocks are 4096 B
    Inspector inspector(model);
    Tape tape;
    Tensor loss = sum(exp(exp(model.w)));  // 0 exp, 1 exp, 2 sum: each exp keeps its result
    tape.backward(loss);
    inspector.finish();
    const MemoryTrace& memory = inspector.memory();
    REQUIRE_EQ(inspector.walk().size(), 3);
    REQUIRE_EQ(memory.bytes().size(), 6);
    const auto life_of = [&](int entry, MemoryKind kind) {
        for (const MemoryLife& l : memory.lives()) {
            if (l.entry == entry && l.kind == kind) return l;
        }
        FAIL("no block of entry " << entry);
        return MemoryLife{};
    };
    const MemoryLife inner = life_of(0, MemoryKind::activation);
    const MemoryLife outer = life_of(1, MemoryKind::activation);
    CHECK_EQ(inner.born, 0);
    CHECK_EQ(outer.born, 1);
    CHECK_EQ(outer.died, 4);  // event 3: backward of sum; 4: of the outer exp, which kept it
    CHECK_EQ(inner.died, 5);
    CHECK_EQ(life_of(2, MemoryKind::activation).died, -1);  // the test still holds the loss
    CHECK_GE(inspector.walk()[1].freed_bytes, outer.bytes);
    CHECK_LT(inspector.walk()[0].freed_bytes, outer.bytes);
    CHECK_EQ(memory.bytes()[static_cast<std::size_t>(memory.peak())],
             *std::max_element(memory.bytes().begin(), memory.bytes().end()));
    const std::size_t grown = memory.bytes()[1] - memory.bytes()[0];
    CHECK_GE(grown, outer.bytes);  // in whole cache lines, at least
    CHECK_LT(grown, outer.bytes + 4096);
}

TEST_CASE("inspect: it watches and changes nothing, and afterwards nothing of it is left") {
    Generator generator(3);
    GPT model(kSmall, generator);
    const auto gradients = [&](bool inspected) {
        model.zero_grad();
        std::optional<Inspector> inspector;
        if (inspected) inspector.emplace(model);
        Tape tape;
        tape.backward(model.loss(ids_of({1, 2, 3, 4}), ids_of({2, 3, 4, 5})));
        std::vector<float> all;
        for (const Tensor& p : model.parameters()) {
            const auto g = p.grad().to_vector<float>();
            all.insert(all.end(), g.begin(), g.end());
        }
        return all;
    };
    const auto plain = gradients(false);
    CHECK(gradients(true) == plain);
    const std::size_t before = memory_statistics().current;
    {
        Inspector inspector(model);
        Tape tape;
        const Tensor loss = model.loss(ids_of({1, 2, 3, 4}), ids_of({2, 3, 4, 5}));
        inspector.finish();
        CHECK_GT(memory_statistics().current, before);
    }
    CHECK_EQ(memory_statistics().current, before);
}

TEST_CASE("inspect: the weights of every head are those of the model's own record") {
    Generator generator(4);
    const GPT model(kSmall, generator);
    const Tensor ids = ids_of({1, 5, 3, 7, 2});
    std::vector<AttentionRecord> records;
    model(ids, {.records = &records});
    Inspector inspector(model);
    Tape tape;
    const Tensor loss = model.loss(ids, ids);
    inspector.finish();
    REQUIRE_EQ(inspector.attention().size(), 2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        const AttentionTrace& a = inspector.attention()[layer];
        CHECK_EQ(a.module, fmt::format("blocks.{}.attention", layer));
        CHECK(a.causal);
        CHECK_FALSE(a.cross);
        CHECK_EQ(a.scale, doctest::Approx(0.5));  // 1 / sqrt(8 / 2)
        CHECK_EQ(std::array{a.heads, a.queries, a.keys, a.dim},
                 (std::array<std::int64_t, 4>{2, 5, 5, 4}));
        const auto wanted = records[layer].weights.to_vector<float>();
        REQUIRE_EQ(a.weights.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            CHECK_EQ(a.weights[i], doctest::Approx(wanted[i]).epsilon(1e-5));
        }
        double first = 0;  // the derivation for query 1 and key 0 of head 0, by hand
        double second = 0;
        for (std::size_t d = 0; d < 4; ++d) {
            first += a.q[4 + d] * a.k[d];
            second += a.q[4 + d] * a.k[4 + d];
        }
        const double weight = 1 / (1 + std::exp(0.5 * (second - first)));
        CHECK_EQ(a.weights[5], doctest::Approx(weight).epsilon(1e-5));
    }
}

TEST_CASE(
    "inspect: heads that share keys are shown each with theirs, and what is added to scores") {
    Generator generator(4);
    GPTConfig config = kSmall;
    config.heads = 4;
    config.kv_heads = 2;
    config.positions = Positions::alibi;
    config.qk_norm = QKNorm::rms;
    const GPT model(config, generator);
    const Tensor ids = ids_of({1, 5, 3, 7, 2});
    std::vector<AttentionRecord> records;
    model(ids, {.records = &records});
    Inspector inspector(model);
    Tape tape;
    const Tensor loss = model.loss(ids, ids);
    inspector.finish();
    REQUIRE_EQ(inspector.attention().size(), 2);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        const AttentionTrace& a = inspector.attention()[layer];
        CHECK_FALSE(a.cross);
        CHECK_EQ(std::array{a.heads, a.queries, a.keys, a.dim, a.mask_heads},
                 (std::array<std::int64_t, 5>{4, 5, 5, 2, 4}));
        REQUIRE_EQ(a.k.size(), 4 * 5 * 2);
        CHECK(std::equal(a.k.begin(), a.k.begin() + 10, a.k.begin() + 10));  // heads 0 and 1
        CHECK_FALSE(std::equal(a.k.begin(), a.k.begin() + 10, a.k.begin() + 20));
        CHECK_EQ(a.mask[1 * 5], -0.25F);  // head 0, query 1, key 0
        const auto wanted = records[layer].weights.to_vector<float>();
        REQUIRE_EQ(a.weights.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            CHECK_EQ(a.weights[i], doctest::Approx(wanted[i]).epsilon(1e-5));
        }
    }
    const auto json = nlohmann::json::parse(to_json(inspector, {}));
    CHECK_EQ(json.at("attention").at(1).at("heads"), 4);
    CHECK_EQ(json.at("attention").at(1).at("maskHeads"), 4);
}

TEST_CASE("inspect: cross attention and masks are known as such") {
    Generator generator(5);
    const Transformer model({.source_vocab = 9,
                             .target_vocab = 9,
                             .dim = 8,
                             .heads = 2,
                             .layers = 1,
                             .dropout = 0,
                             .padding_id = 0},
                            generator);
    Inspector inspector(model);
    Tape tape;
    const Tensor loss = model.loss(ids_of({3, 4, 0}), ids_of({1, 2, 3}), ids_of({2, 3, 4}));
    inspector.finish();
    REQUIRE_EQ(inspector.attention().size(), 3);
    const auto& all = inspector.attention();
    CHECK_EQ(all[2].module, "decoder.0.cross_attention");
    CHECK_EQ(std::array{all[0].cross, all[1].cross, all[2].cross}, std::array{false, false, true});
    CHECK_EQ(std::array{all[0].causal, all[1].causal, all[2].causal},
             std::array{false, true, false});
    REQUIRE_EQ(all[2].mask.size(), 9);
    CHECK_EQ(all[2].mask[1], 0);
    CHECK_EQ(all[2].mask[2], -std::numeric_limits<float>::infinity());
    CHECK_EQ(all[2].weights[2], 0);
}

TEST_CASE("inspect: numbers and bytes in few characters") {
    const auto bytes = [](std::string_view text) {
        return base64(std::as_bytes(std::span(text.data(), text.size())));
    };
    CHECK_EQ(bytes(""), "");  // RFC 4648, section 10
    CHECK_EQ(bytes("f"), "Zg==");
    CHECK_EQ(bytes("fo"), "Zm8=");
    CHECK_EQ(bytes("foobar"), "Zm9vYmFy");
    CHECK_EQ(float_base64(std::array{1.0F}), "AACAPw==");  // 00 00 80 3F
    const auto in91 = [](std::string_view text) {
        return base91(std::as_bytes(std::span(text.data(), text.size())));
    };
    CHECK_EQ(in91(""), "");
    CHECK_EQ(in91("foobar"), "G$v_SCd(");  // 0CCD 1DBD 1130 1720
    CHECK_EQ(in91("\xFF\xFF\xFF"), "}$||");
    const PackedRows rows = pack_rows(std::array{2047.0F, -1.0F, 0.5F, -0.25F, 0.0F, 0.0F,
                                                 std::numeric_limits<float>::infinity(), 1.0F},
                                      2);
    CHECK_EQ(rows.numbers, "P#|}#*##########");  // 7FF FFF, 400 E00: 1024 and -512 times 2^-11, 0s
    CHECK_EQ(rows.units, "f3R//w==");            // 2^0, 2^-11, 2^0 (of nothing but 0), not finite
    CHECK_EQ(half_bits(1), 0x3C00);
    CHECK_EQ(half_bits(-2), 0xC000);
    CHECK_EQ(half_bits(0.1F), 0x2E66);
    CHECK_EQ(half_bits(65504), 0x7BFF);
    CHECK_EQ(half_bits(65520), 0x7C00);
    CHECK_EQ(half_bits(1 + 0x1p-11F), 0x3C00);  // halfway: to even
    CHECK_EQ(half_bits(1 + 0x3p-11F), 0x3C02);
    CHECK_EQ(half_bits(0x1p-24F), 1);
    CHECK_EQ(half_bits(0x1.FFCp-1F * 2), 0x4000 - 1);
    CHECK_EQ(half_bits(-0.0F), 0x8000);
    CHECK_EQ(half_bits(-INFINITY), 0xFC00);
}

TEST_CASE("inspect: any text is safe inside the page") {
    Generator generator(6);
    const GPT model(kSmall, generator);
    Inspector inspector(model);
    Tape tape;
    const Tensor loss = model.loss(ids_of({1, 2}), ids_of({2, 3}));
    tape.backward(loss);
    inspector.finish();
    const PageOptions options{.title = "</script><script>",
                              .texts = {{.queries = {"\xe4", "<!--"}}}};
    const std::string page = to_html(inspector, options);
    const std::string data = test::data_of_page(page);
    CHECK_EQ(data.find('<'), std::string::npos);
    const auto json = nlohmann::json::parse(data);
    CHECK_EQ(json.at("title"), "</script><script>");
    CHECK_EQ(json.at("attention").at(0).at("queryTexts"), (nlohmann::json{"\xef\xbf\xbd", "<!--"}));
    CHECK_EQ(json.at("entries").size(), inspector.entries().size());
    CHECK_EQ(json.at("walk").size(), inspector.walk().size());
    CHECK_EQ(page.find("http://"), page.find("http://www.w3.org"));
}
