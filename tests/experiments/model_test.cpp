// --model: examines a pretrained GPT with its own tokenizer.
#include <tapestry/core/error.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/experiments/support.h>

using namespace tapestry;
using namespace tapestry::experiments;

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
    // Untrained heads do nothing yet, so each can be spared.
    CHECK_EQ(heads.outcomes.of("trained", "4/4 of the steps: to spare, zeroed").mean, 1);
    // Afterwards the model is unchanged: the second seed sees all heads.
    const Found again = run(find_experiment("redundant_heads"), setting);
    CHECK(again.outcomes.entries()[0].seeds[1].numbers ==
          heads.outcomes.entries()[0].seeds[1].numbers);
    CHECK_THROWS_WITH_AS(run(find_experiment("sqrt_dk"), setting),
                         "--model: experiment sqrt_dk asks no model in a directory", ValueError);
    CHECK_THROWS_AS(run(find_experiment("layers_roles"), {.model = scratch / "none"}), IoError);
}
