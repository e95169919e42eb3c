// Arrivals (arrivals.h); and --model, which examines a pretrained GPT with its own tokenizer.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/arrivals.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tapestry.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/experiments/support.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::experiments;

TEST_CASE("arrivals: what places bring sums up to what attention adds") {
    Generator generator(1);
    const MaskedLanguageModel model({.vocab = 7,
                                     .max_length = 4,
                                     .dim = 8,
                                     .heads = 2,
                                     .layers = 1,
                                     .dropout = 0,
                                     .padding_id = 0,
                                     .deviation = 0.5},
                                    generator);
    const MultiHeadAttention& attention = model.encoder.layers[0]->attention;
    const auto added = [&](const Tensor& ids) {  // [1, T, C], without W_O's bias
        const Tensor x = model.embedding_norm(model.position_embedding(model.token_embedding(ids)));
        return attention(x) - attention.output.bias;
    };
    const auto length = [](const Tensor& vector) { return sqrt(sum(square(vector))).item(); };
    const auto arrivals = [&](const Tensor& ids, std::int64_t place) {
        std::vector<AttentionRecord> records;
        model(ids, {.records = &records});
        return arrivals_of(model, ids, 0, {place}, records);
    };
    // One word brings all of it; what two bring obeys the inequality of the triangle.
    const Tensor one = tensor(std::vector<std::int64_t>{3}, {1, 1});
    CHECK(arrivals(one, 0).together[0].at({0, 0}) == doctest::Approx(length(added(one))));
    const Tensor two = tensor(std::vector<std::int64_t>{3, 5}, {1, 2});
    const Tensor brought = arrivals(two, 1).together[0];
    const double whole = length(slice(added(two), 1, 1, 2));
    CHECK(brought.at({0, 0}) + brought.at({0, 1}) >= whole * (1 - 1e-5));
    CHECK(std::abs(brought.at({0, 0}) - brought.at({0, 1})) <= whole * (1 + 1e-5));
    CHECK(mean_share(brought, {0}) + mean_share(brought, {1}) == doctest::Approx(1));
}

TEST_CASE("experiments ask a model in a directory, where that makes sense") {
    const test::Scratch scratch;
    const CharTokenizer tokenizer =
        CharTokenizer::from_text(examples::write_stories(1, 100'000).text);
    Generator generator(1);
    const GPT model(
        {.vocab = tokenizer.vocab_size(), .context = 160, .layers = 3, .heads = 2, .dim = 16},
        generator);
    save_model(scratch / "model", model, tokenizer);
    const Setting setting{.quick = true, .seeds = 2, .model = scratch / "model"};
    const Found roles = run(find_experiment("layers_roles"), setting);
    CHECK_EQ(roles.outcomes.entries().size(), 1);
    CHECK_EQ(roles.report.tables.at(0).rows.size(), 3);
    const Found heads = run(find_experiment("redundant_heads"), setting);
    // Values are of stories, not of models, and nothing is trained.
    CHECK_EQ(text_of(design_of(find_experiment("redundant_heads").claims.back(), heads.report)),
             "One value: other stories, the same model. Nothing is trained.");
    CHECK_EQ(to_text(find_experiment("layers_roles"), roles.report).find("at its best rate"),
             std::string::npos);
    // Untrained heads do nothing yet, so each can be spared.
    CHECK_EQ(heads.outcomes.of("asked", "4/4 of the steps: to spare, zeroed").mean, 1);
    // Afterwards the model is unchanged: the second seed sees all heads.
    const Found again = run(find_experiment("redundant_heads"), setting);
    CHECK(again.outcomes.entries()[0].seeds[1].numbers ==
          heads.outcomes.entries()[0].seeds[1].numbers);
    // What it was before it was trained is not known.
    for (const char* claim : {"trained_fill_less", "outputs_become_orthogonal"}) {
        CHECK(std::isnan(heads.report.decided.at(claim).mean));
    }
    CHECK_EQ(heads.report.tables.at(1).rows.size(), 1);
    CHECK_THROWS_WITH_AS(run(find_experiment("sqrt_dk"), setting),
                         "--model: experiment sqrt_dk asks no model in a directory", ValueError);
    CHECK_THROWS_AS(run(find_experiment("layers_roles"), {.model = scratch / "none"}), IoError);
}

TEST_CASE("experiments leave out what a model of characters cannot spell, and say so") {
    const test::Scratch scratch;
    std::string text = examples::write_stories(1, 300'000).text;
    std::erase(text, '"');
    Generator generator(1);
    const auto save = [&](const char* name, const CharTokenizer& tokenizer) {
        const GPT model(
            {.vocab = tokenizer.vocab_size(), .context = 160, .layers = 3, .heads = 2, .dim = 16},
            generator);
        save_model(scratch / name, model, tokenizer);
        return Setting{.quick = true, .seeds = 2, .model = scratch / name};
    };
    const Setting setting = save("unquoted", CharTokenizer::from_text(text));
    for (const char* name : {"layers_roles", "redundant_heads"}) {
        const Found found = run(find_experiment(name), setting);
        const double share =
            found.outcomes.seeds(found.outcomes.entries()[0].name)[0].numbers.at("spelled");
        CHECK(share > 0.1);
        CHECK(share < 0.9);
        CHECK(found.report.remark.find("% of the stories; the others") != std::string::npos);
    }
    // No sentence about "it" has quotes: all are asked, and nothing is said.
    const Found asked = run(find_experiment("who_is_it"), setting);
    CHECK_EQ(asked.outcomes.seeds("asked")[0].numbers.at("spelled"), 1);
    CHECK(asked.report.remark.find("were left out") == std::string::npos);
    const Setting other = save("other", CharTokenizer::from_text("xyz "));
    for (const char* name : {"layers_roles", "redundant_heads", "who_is_it"}) {
        CHECK_THROWS_WITH_AS(run(find_experiment(name), other),
                             doctest::Contains("can be spelled in the model's vocabulary of 4"),
                             ValueError);
    }
}

TEST_CASE("experiments ask a model in a directory who \"it\" is") {
    const test::Scratch scratch;
    const std::string text = examples::write_stories(1, 300'000).text;
    Generator generator(1);
    const auto ask = [&](const char* name, const Tokenizer& tokenizer, std::int64_t context) {
        const GPT model({.vocab = tokenizer.vocab_size(),
                         .context = context,
                         .layers = 2,
                         .heads = 2,
                         .dim = 16},
                        generator);
        save_model(scratch / name, model, tokenizer);
        return run(find_experiment("who_is_it"),
                   {.quick = true, .seeds = 2, .model = scratch / name});
    };
    // An untrained model gives every word the same weight, of characters or of byte pairs.
    const CharTokenizer characters = CharTokenizer::from_text(text);
    WordCounts words;
    words.add(text);
    const BytePairTokenizer pairs = train_byte_pairs(words, 300);
    for (const Found& found : {ask("characters", characters, 160), ask("pairs", pairs, 80)}) {
        const Measured& seed = found.outcomes.seeds("asked")[0];
        CHECK_EQ(seed.numbers.at("sentences"), 12);
        CHECK(seed.numbers.at("right") >= 0);
        CHECK(seed.numbers.at("right") <= 1);
        CHECK(seed.numbers.at("first noun") > 0);
        CHECK(seed.numbers.at("first noun") < 1);
        CHECK(seed.numbers.at("antecedent") > 0.005);
        CHECK(seed.numbers.at("antecedent") < 0.1);
        CHECK(seed.numbers.at("antecedent") ==
              doctest::Approx(seed.numbers.at("other")).epsilon(0.2));
        CHECK_FALSE(std::isnan(found.report.decided.at("it_is_named").mean));
        CHECK(std::isnan(found.report.decided.at("a_head_looks").mean));
        CHECK(found.report.remark.find("a GPT has not read the ending") != std::string::npos);
        // Other stories for every seed.
        CHECK(seed.numbers != found.outcomes.seeds("asked")[1].numbers);
    }
    CHECK_THROWS_WITH_AS(ask("short", characters, 16), doctest::Contains("model's context, 16"),
                         ValueError);
}
