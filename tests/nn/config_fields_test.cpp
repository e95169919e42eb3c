// Configurations and their lists of fields: no field is missing, files round-trip, and values
// computed from the fields match the model.
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <set>

using namespace tapestry;
using test::check_throws;
using test::slurp;

namespace {

template <class Config>
Config read_back(const Config& config) {
    ConfigWriter writer;
    write_fields(writer, config);
    return read_fields<Config>(ConfigFile(writer.text(), "c"));
}

// Counts the members of an aggregate: how many values can initialize it.
struct Anything {
    template <class T>
    operator T() const;
};
template <class Aggregate, class... Values>
constexpr std::size_t member_count() {
    if constexpr (requires { Aggregate{Values{}..., Anything{}}; }) {
        return member_count<Aggregate, Values..., Anything>();
    } else {
        return sizeof...(Values);
    }
}

template <class Config>
void check_list(std::size_t without_field) {
    std::set<std::string> names;
    for_each_field<Config>([&](const auto& one) {
        INFO(one.name);
        CHECK(names.insert(one.name).second);
        CHECK_FALSE(std::string(one.meaning).empty());
        CHECK(one.traits.low <= one.traits.high);
    });
    CHECK_EQ(names.size() + without_field, member_count<Config>());
}

}  // namespace

TEST_CASE("config fields: no member of a configuration is forgotten") {
    check_list<GPTConfig>(0);
    check_list<LlamaConfig>(1);  // the family is the kind
    check_list<TransformerConfig>(0);
}

TEST_CASE("config fields: what is written is read back, with every bit") {
    const GPTConfig given{.vocab = 7,
                          .context = 9,
                          .layers = 3,
                          .heads = 2,
                          .kv_heads = 1,
                          .dim = 10,
                          .hidden = 11,
                          .dropout = 0.1,
                          .embedding_dropout = 0,
                          .attention_dropout = 0.2,
                          .activation = Activation::swiglu,
                          .positions = Positions::rotary,
                          .embedding_scale = 1.5,
                          .rotary_base = 1e6 / 3,
                          .rotary_share = 0.8,
                          .rotary_pairs = RotaryPairs::halves,
                          .qk_norm = QKNorm::layer,
                          .norm_eps = 1.0 / 3e5,
                          .bias = false,
                          .tied_head = false,
                          .deviation = 0.5,
                          .zero_outputs = true,
                          .earlier = 3,
                          .pairs = 40,
                          .softcap = 30};
    const GPTConfig read = read_back(given);
    for_each_field<GPTConfig>([&](const auto& one) {
        INFO(one.name);
        const GPTConfig& expected = one.traits.stored ? given : GPTConfig{};
        CHECK(read.*one.member == expected.*one.member);
    });
    const TransformerConfig other{.source_vocab = 5,
                                  .target_vocab = 6,
                                  .kv_heads = 2,
                                  .positions = Positions::rotary,
                                  .rotary_base = 1e6 / 3,
                                  .rotary_share = 0.8,
                                  .rotary_pairs = RotaryPairs::halves,
                                  .qk_norm = QKNorm::rms,
                                  .padding_id = 3};
    const TransformerConfig back = read_back(other);
    for_each_field<TransformerConfig>(
        [&](const auto& one) { CHECK(back.*one.member == other.*one.member); });
}

TEST_CASE("config fields: what a file may lack, and what it must have") {
    const std::string least =
        R"({"vocab": 3, "context": 4, "layers": 1, "heads": 1, "dim": 2, "dropout": 0,)"
        R"( "bias": true, "tied_head": true)";
    const auto config = read_fields<GPTConfig>(ConfigFile(least + "}", "c"));
    CHECK(config.activation == Activation::gelu_tanh);
    CHECK_EQ(config.norm_eps, 1e-5);
    CHECK_EQ(GPTConfig().embedding_scale, 0);
    CHECK_EQ(config.embedding_scale, 1);  // a file from before it existed
    const auto refused = [&](const std::string& text, const char* words) {
        check_throws<IoError>([&] { read_fields<GPTConfig>(ConfigFile(text, "c")); }, words);
    };
    refused("{}", "c: \"vocab\" is missing");
    refused(least + R"(, "hidden": "wide"})", "c: \"hidden\" has an invalid value: \"wide\"");
    refused(
        least + R"(, "activation": "tanh"})",
        "c: \"activation\" is \"tanh\"; must be one of \"relu\", \"relu_squared\", \"gelu_tanh\", "
        "\"gelu_erf\", \"silu\", \"swiglu\"");
    refused(
        least + R"(, "positions": "spiral"})",
        "c: \"positions\" is \"spiral\"; must be one of \"learned\", \"sinusoidal\", \"rotary\", "
        "\"alibi\", \"relative\", \"none\"");
    refused(least + R"(, "qk_norm": "batch"})",
            "c: \"qk_norm\" is \"batch\"; must be one of \"none\", \"rms\", \"layer\"");
    refused(least + R"(, "rotary_pairs": "thirds"})",
            "c: \"rotary_pairs\" is \"thirds\"; must be one of \"interleaved\", \"halves\"");
    refused("[]", "c: not a JSON object");
    check_throws<IoError>([] { ConfigFile(R"({"model": 3})", "c").object("model"); },
                          "c: \"model\" is 3, not a JSON object");
    check_throws<IoError>([] { ConfigFile("{}", "c").object("model"); }, "c: \"model\" is missing");
    const ConfigFile nested(R"({"model": {"a": 1}})", "c");
    check_throws<IoError>([&] { nested.object("model").get<bool>("a"); },
                          "c: model: \"a\" has an invalid value: 1");
    CHECK_EQ(ConfigFile(R"({"seed": 18446744073709551615})", "c").get<std::uint64_t>("seed"),
             ~std::uint64_t{0});
    CHECK_THROWS_AS(ConfigFile(R"({"seed": -1})", "c").get<std::uint64_t>("seed"), IoError);
}

TEST_CASE("config fields: values by name fit fields of their type only") {
    const FieldValues values =
        field_values(GPTConfig{.dim = 24, .dropout = 0.25, .qk_norm = QKNorm::rms},
                     {"dim", "dropout", "qk_norm", "no_such_field"});
    CHECK_EQ(values.size(), 3);
    LlamaConfig to;
    for (const auto& row : kFields<LlamaConfig>) {
        const auto found = values.find(row.name);
        if (found == values.end()) continue;
        CHECK(row.set(to, found->second));
        CHECK_FALSE(row.set(to, std::any(std::string("24"))));
    }
    CHECK_EQ(to.dim, 24);
    CHECK_EQ(to.dropout, 0.25);
    CHECK(to.qk_norm == QKNorm::rms);
}

TEST_CASE("parameter_count: the model's parameters, from its configuration only") {
    const GPTConfig small{.vocab = 11, .context = 6, .layers = 2, .heads = 2, .dim = 8};
    std::vector<GPTConfig> gpts(14, small);
    gpts[1].tied_head = false;
    gpts[2].bias = false;
    gpts[3].activation = Activation::swiglu;
    gpts[4].positions = Positions::rotary;
    gpts[5].hidden = 5;
    gpts[6].kv_heads = 1;
    gpts[7].positions = Positions::relative;
    gpts[8].positions = Positions::alibi;
    gpts[8].qk_norm = QKNorm::rms;
    gpts[9].qk_norm = gpts[10].qk_norm = QKNorm::layer;
    gpts[10].bias = false;
    gpts[11].earlier = 2;
    gpts[12].pairs = 13;
    gpts[13].earlier = gpts[13].pairs = 1;
    for (const GPTConfig& config : gpts) {
        CHECK_EQ(parameter_count(config), static_cast<double>(GPT(config).parameter_count()));
    }
    const TransformerConfig pair{
        .source_vocab = 7, .target_vocab = 7, .dim = 8, .heads = 2, .layers = 2};
    std::vector<TransformerConfig> pairs(10, pair);
    pairs[1].norm_first = true;
    pairs[2].bias = false;
    pairs[3].activation = Activation::swiglu;
    pairs[4].positions = Positions::learned;
    pairs[4].max_length = 9;
    pairs[5].share_embeddings = true;
    pairs[5].tied_head = false;
    pairs[6].kv_heads = 1;
    pairs[7].qk_norm = QKNorm::layer;
    pairs[8].qk_norm = QKNorm::rms;
    pairs[8].positions = Positions::relative;
    pairs[9].kv_heads = 1;
    pairs[9].positions = Positions::rotary;
    pairs[9].bias = false;
    for (const TransformerConfig& config : pairs) {
        CHECK_EQ(parameter_count(config),
                 static_cast<double>(Transformer(config).parameter_count()));
    }
}

TEST_CASE("config fields: docs/modules.md has the fields of models as they are listed") {
    const std::string page = slurp(test::source_dir() / "docs/modules.md");
    std::string gpt = "| field | meaning | config.json | GPT-2's name |\n|---|---|---|---|\n";
    for_each_field<GPTConfig>([&](const auto& one) {
        const char* gpt2 = one.traits.gpt2;
        gpt += fmt::format("| `{}` | {} |{} |{} |\n", one.name, one.meaning,
                           one.traits.stored ? " yes" : "",
                           gpt2 == nullptr ? "" : fmt::format(" `{}`", gpt2));
    });
    CHECK(page.find(gpt + "\n") != std::string::npos);
    const auto has_table_of = [&page](const auto& defaults) {
        std::string table = "| field | meaning | default |\n|---|---|---|\n";
        for_each_field<std::decay_t<decltype(defaults)>>([&](const auto& one) {
            table += fmt::format("| `{}` | {} | {} |\n", one.name, one.meaning,
                                 value_text(defaults.*one.member));
        });
        INFO(table);
        CHECK(page.find(table + "\n") != std::string::npos);
    };
    has_table_of(LlamaConfig());
    has_table_of(BagConfig());
    has_table_of(TransformerConfig());
    has_table_of(VisionTransformerConfig());
    has_table_of(MaskedLanguageModelConfig());
    has_table_of(SpanConfig());
    has_table_of(TableConfig());
}
