// Loading a model: no numbers are drawn for weights that are read, and later draws do not change.
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/tests/nn/small_run.h>

#include <ctime>

using namespace tapestry;

namespace {

// CPU seconds of this thread.
template <class F>
double cpu_seconds(const F& f) {
    timespec begin{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    f();
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return static_cast<double>(end.tv_sec - begin.tv_sec) +
           1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

}  // namespace

TEST_CASE("skip drawing: tensors stay as they are, and the generator advances") {
    Generator drawing(3), skipping(3);
    const Tensor drawn = normal({1000}, 0, 1, drawing);
    const Tensor uniformly = uniform({1000}, -1, 1, drawing);
    {
        const SkipDrawing skip;
        CHECK(SkipDrawing::active());
        CHECK(normal({1000}, 0, 1, skipping).to_vector<float>() != drawn.to_vector<float>());
        CHECK(uniform({1000}, -1, 1, skipping).to_vector<float>() != uniformly.to_vector<float>());
    }
    CHECK_FALSE(SkipDrawing::active());
    CHECK_EQ(skipping.offset(), drawing.offset());
    CHECK_EQ(normal({5}, 0, 1, skipping).to_vector<float>(),
             normal({5}, 0, 1, drawing).to_vector<float>());
}

TEST_CASE(
    "load model: takes less than drawing its weights would, and the default generator's place") {
    const test::Scratch scratch;
    const ThreadsGuard one(1);
    const GPTConfig config{.vocab = 40, .context = 16, .layers = 2, .heads = 4, .dim = 256};
    Generator generator(1);
    const GPT model(config, generator);
    const CharTokenizer tokenizer = [] {
        std::u32string vocab;
        for (char32_t c = U'!'; c < U'!' + 40; ++c) vocab += c;
        return CharTokenizer(vocab);
    }();
    save_model(scratch / "m", model, tokenizer);
    manual_seed(5);
    const double made = cpu_seconds([&] { GPT(config, default_generator()); });
    const std::uint64_t after = default_generator().offset();
    manual_seed(5);
    LoadedModel loaded;
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        manual_seed(5);
        least = std::min(least, cpu_seconds([&] { loaded = load_model(scratch / "m"); }));
    }
    CHECK_EQ(default_generator().offset(), after);
    MESSAGE("made in " << made << " s, loaded in " << least << " s");
    CHECK_LT(least, 0.6 * made);
    CHECK(test::numbers_of(*loaded.model) == test::numbers_of(model));
}

TEST_CASE(
    "session: a start model's weights are copied, with the dropout of a model that was drawn") {
    const test::RunPlace place;
    TrainingConfig config = place.config();
    config.steps = 3;
    Session first(config);
    save_model(place.scratch / "start", first.model(), first.tokenizer());
    config.start = (place.scratch / "start").string();
    const Session second(config);
    CHECK(test::numbers_of(second.model()) == test::numbers_of(first.model()));
    // The weights' generator is where drawing them would have left it.
    CHECK_EQ(Session(config).weights_generator().offset(), first.weights_generator().offset());
}
