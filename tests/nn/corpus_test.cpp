// The training data that a configuration names: a text, or data made from it, which are equivalent
// to a resumed run.
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::check_message;
using test::spill;

namespace {

std::string sentences(const std::string& animal) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
        text += "The " + animal + " sat on mat " + std::to_string(i * i % 17) + ".\n";
    }
    return text;
}

// A text, data made from it, and data made from another text with the same characters.
struct Sources {
    Sources() {
        write("text", "data", "cat");
        write("other text", "other data", "act");
    }

    void write(const char* text, const char* data, const std::string& animal) const {
        spill(scratch / text, sentences(animal));
        DocumentReader reader({scratch / text});
        write_data(scratch / data, reader, CharTokenizer::from_text(sentences(animal)));
    }
    std::string path(const char* name) const { return (scratch / name).string(); }
    TrainingConfig config() const {
        return {.text = path("text"),
                .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16},
                .batch = 4,
                .order = BatchOrder::epoch,
                .steps = 80,  // more than an epoch
                .warmup = 2,
                .eval_every = 0,
                .eval_batches = 2};
    }

    test::Scratch scratch;
};

}  // namespace

TEST_CASE("tokenized text: a text and data made of it are the same") {
    const Sources sources;
    TrainingConfig config = sources.config();
    const Corpus text = read_corpus(config, nullptr);
    config.text = "";
    config.data = sources.path("data");
    const Corpus data = read_corpus(config, nullptr);
    CHECK_EQ(text.hash, data.hash);
    CHECK(text.ids.read(0, 100) == data.ids.read(0, 100));
    CHECK_EQ(data_name(config), config.data);
    config.data = sources.path("other data");
    CHECK(read_corpus(config, nullptr).hash != text.hash);
    config.text = "both";
    check_message<ValueError>([&] { read_corpus(config, nullptr); },
                              "training: needs either a text or data, got both");
    check_message<ValueError>([&] { read_corpus({}, nullptr); },
                              "training: needs either a text or data, got neither");
}

TEST_CASE("tokenized text: a run on a text continues with its tokenized data, in the same epoch") {
    const Sources sources;
    Session whole(sources.config());
    for (int i = 0; i < 50; ++i) whole.take_step();
    const auto file = sources.scratch / "c.safetensors";
    whole.save(file);
    ResumeOptions options{.wanted = {.data = sources.path("data")}, .given = {"data"}};
    const auto second = Session::resume(file, options);
    CHECK_EQ(second->config().text, "");
    while (!whole.is_finished()) CHECK_EQ(second->take_step().loss, whole.take_step().loss);

    options.wanted.data = sources.path("other data");
    const std::string now = load_data(sources.path("other data")).hash;
    check_message<ValueError>([&] { Session::resume(file, options); },
                              "data was " + whole.corpus().hash + " and is now " + now);
    options.overrides = {"data"};
    CHECK(Session::resume(file, options)->overridden() == std::vector<std::string>{"data"});
}
