// Writes pages of every kind of model, small and untrained, into a folder. For the browser test
// (tests/npm), each NAME.html comes with NAME.txt, the attention weights from the Inspector, and
// NAME.predictions.txt, the expected predictions computed without an Inspector; one also with the
// model's weights and tokens. The weights are random and large, so heads attend selectively.
//
//     inspect_pages DIRECTORY
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/training_config.h>
#include <tapestry/tests/nn/plain.h>
#include <tapestry/tests/pages/pages.h>

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace tapestry;

// Fixed, and higher than any machine's: the page's layout must not depend on the processor.
const MachinePeak kPeak{.flops_per_second = 1e14, .levels = {{std::size_t{1} << 18, 1e13}}};

// The weights that the page must recompute: "module head query key weight" per line.
std::string weights_of(const Inspector& inspector) {
    std::string lines;
    for (const AttentionTrace& a : inspector.attention()) {
        const std::int64_t query = a.queries - 1;
        for (std::int64_t head = 0; head < a.heads; ++head) {
            for (std::int64_t key = 0; key < a.keys; key += 3) {
                const auto at = static_cast<std::size_t>((head * a.queries + query) * a.keys + key);
                lines +=
                    fmt::format("{} {} {} {} {:.9f}\n", a.module, head, query, key, a.weights[at]);
            }
        }
    }
    return lines;
}

void write_page(const std::filesystem::path& to, const Module& model, const PageOptions& options,
                const std::function<Tensor()>& loss) {
    Inspector inspector(model, kPeak);
    {
        Tape tape;
        const Tensor y = loss();
        tape.backward(y);
        inspector.finish();
    }
    write_file_atomically(fmt::format("{}.html", to.string()), to_html(inspector, options));
    write_file_atomically(fmt::format("{}.txt", to.string()), weights_of(inspector));
}

void write_predictions(const std::filesystem::path& to, const std::string& lines) {
    write_file_atomically(fmt::format("{}.predictions.txt", to.string()), lines);
}

// The expected contents of the predictions tab, in doubles: for every row that counts (with a
// target of at least 0) a line "LAYER PLACE LOSS PROBABILITY RANK" on the right class; the rank is
// the number of classes that are at least as likely. logits [rows, classes]; LAYER is "model", or
// "0" for the input of the first layer.
std::string expected_predictions(const std::string& layer, const std::vector<double>& logits,
                                 const std::vector<std::int64_t>& targets) {
    const std::size_t classes = logits.size() / targets.size();
    std::string lines;
    for (std::size_t row = 0; row < targets.size(); ++row) {
        if (targets[row] < 0) continue;
        const double* const x = logits.data() + row * classes;
        const double right = x[targets[row]];
        double shares = 0;  // relative to the right one's, so small ones are included
        int rank = 1;
        for (std::size_t i = 0; i < classes; ++i) {
            shares += std::exp(x[i] - right);
            if (x[i] > right) ++rank;
        }
        lines +=
            fmt::format("{} {} {:.9g} {:.9g} {}\n", layer, row, std::log(shares), 1 / shares, rank);
    }
    return lines;
}

std::string predictions_of(const Tensor& logits, const Tensor& targets) {
    return expected_predictions("model", logits.to_vector<double>(),
                                targets.to_vector<std::int64_t>());
}

std::vector<std::string> tokens(const std::vector<std::string>& words, std::int64_t count) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < count; ++i) {
        all.push_back(words[static_cast<std::size_t>(i) % words.size()]);
    }
    return all;
}

// Chinese, an end of a script, half a character, quotes, a newline.
const std::vector<std::string> kWords{
    "\u732b",   "\u5750", "\u5728", "\u57ab", "\u5b50", "\u4e0a", "</script>", "<!--",
    "\xe4\xb8", "\"'&",   "\n",     " the",   " robot", "\\",     "\u2028",    "<b>"};

// Everything that the step used, for a pass that shares no code with the library
// (tests/npm/plain_gpt.js).
void write_step(const std::filesystem::path& to, const GPT& model, const Tensor& ids,
                const Tensor& targets) {
    save(fmt::format("{}.safetensors", to.string()), model);
    JsonWriter json;
    json.object([&] {
        json.member("ids", ids.to_vector<std::int64_t>());
        json.member("targets", targets.to_vector<std::int64_t>());
        json.member("heads", model.config().heads);
    });
    write_file_atomically(fmt::format("{}.step.json", to.string()), json.text());
}

// Hebrew, Arabic, vowel signs of their own, a mark that turns the direction.
const std::vector<std::string> kRightToLeft{
    "\u05e9\u05dc",       "\u05d5\u05dd", "\u0633\u0644", "\u0627\u0645", " ",
    "\u05d1\u05b0\u05bc", "\u202e",       "abc"};

// `plain`: the model is one that the independent passes know.
void write_gpt(const std::filesystem::path& to, const GPTConfig& config, std::int64_t count,
               const std::vector<std::string>& words = kWords, bool plain = true) {
    Generator generator(7);
    const GPT model(config, generator);
    const Tensor ids = randint(0, config.vocab, {1, count}, generator);
    const Tensor targets = randint(0, config.vocab, {1, count}, generator);
    write_page(to, model,
               {.title = "GPT </script><script>alert(1)</script>",
                .subtitle = fmt::format("{}; random weights", model.settings()),
                .texts = {{.queries = tokens(words, count)}},
                .name_of =
                    [&words](std::int64_t id) {
                        return words[static_cast<std::size_t>(id) % words.size()];
                    }},
               [&] { return model.loss(ids, targets); });
    if (count > 32 || !plain) return write_predictions(to, predictions_of(model(ids), targets));
    write_step(to, model, ids, targets);
    // In doubles and plain loops, layer by layer.
    const std::vector<std::int64_t> right = targets.to_vector<std::int64_t>();
    std::string lines = expected_predictions("model", test::plain::gpt(ids, model).data, right);
    for (std::size_t layer = 0; layer < model.blocks.layers.size(); ++layer) {
        lines += expected_predictions(std::to_string(layer),
                                      test::plain::gpt(ids, model, layer).data, right);
    }
    write_predictions(to, lines);
}

Tensor parameter_of(const Module& model, const std::string& name) {
    for (const auto& [each, parameter] : model.named_parameters()) {
        if (each == name) return parameter;
    }
    fail("no parameter {}", name);
}

// Layer 1 has 128 hidden units: five are never above 0 for any token, and two are never read.
void write_dead(const std::filesystem::path& to) {
    Generator generator(11);
    const GPT model({.vocab = 60,
                     .context = 32,
                     .layers = 2,
                     .heads = 4,
                     .dim = 32,
                     .activation = Activation::relu,
                     .deviation = 0.1},
                    generator);
    parameter_of(model, "blocks.0.feed_forward.up.bias").fill_(3);  // all are active
    Tensor bias = parameter_of(model, "blocks.1.feed_forward.up.bias").fill_(3);
    for (const int unit : {2, 3, 50, 51, 127}) bias.mutable_data<float>()[unit] = -1e4F;
    Tensor down = parameter_of(model, "blocks.1.feed_forward.down.weight");  // [32, 128]
    for (const int unit : {0, 100}) {
        for (int i = 0; i < 32; ++i) down.mutable_data<float>()[i * 128 + unit] = 0;
    }
    const Tensor ids = randint(0, 60, {2, 16}, generator);
    write_page(to, model, {.title = "Dead units", .subtitle = model.settings()},
               [&] { return model.loss(ids, ids); });
    const Tensor first = views::slice(ids, 0, 0, 1);
    write_predictions(to, predictions_of(model(first), first));
}

// One hidden unit of layer 1 overflows with the weight that follows it.
void write_finding(const std::filesystem::path& to) {
    Generator generator(12);
    const GPT model(
        {.vocab = 60, .context = 32, .layers = 2, .heads = 4, .dim = 32, .deviation = 0.3},
        generator);
    parameter_of(model, "blocks.1.feed_forward.up.bias").mutable_data<float>()[3] = 3e38F;
    parameter_of(model, "blocks.1.feed_forward.down.weight").mutable_data<float>()[3] = 2;
    const Tensor ids = randint(0, 60, {1, 16}, generator);
    write_page(to, model, {.title = "A step that overflows", .subtitle = model.settings()},
               [&] { return model.loss(ids, ids); });
    write_predictions(to, "");  // unknown
}

void write_transformer(const std::filesystem::path& to) {
    Generator generator(8);
    const Transformer model({.source_vocab = 20,
                             .target_vocab = 30,
                             .dim = 32,
                             .heads = 4,
                             .layers = 2,
                             .dropout = 0,
                             .padding_id = 0},
                            generator);
    const std::int64_t padding = 0;
    Tensor source = randint(1, 20, {1, 9}, generator);
    source.mutable_data<std::int64_t>()[8] = padding;
    const Tensor target = randint(1, 30, {1, 7}, generator);
    const Tensor next = randint(1, 30, {1, 7}, generator);
    const auto read = tokens({"der", "Hund", "bei\u00dft", "den", "Mann"}, 9);
    const auto written = tokens({"the", "dog", "bites", "man"}, 7);
    write_page(to, model,
               {.title = "Encoder and decoder",
                .subtitle = model.settings(),
                .texts = {{.module = "encoder", .queries = read},
                          {.module = "decoder", .queries = written, .keys = read}}},
               [&] { return model.loss(source, target, next); });
    write_predictions(to, predictions_of(model(source, target), next));
}

void write_masked(const std::filesystem::path& to) {
    Generator generator(9);
    const MaskedLanguageModel model(
        {.vocab = 40, .dim = 32, .heads = 2, .layers = 2, .dropout = 0, .deviation = 0.2},
        generator);
    const Tensor ids = randint(0, 40, {1, 12}, generator);
    Tensor targets = randint(0, 40, {1, 12}, generator);
    for (const int i : {0, 1, 2, 5, 6, 9}) targets.mutable_data<std::int64_t>()[i] = -100;
    write_page(to, model, {.title = "Masked language model", .subtitle = model.settings()},
               [&] { return model.loss(ids, targets); });
    write_predictions(to, predictions_of(model(ids), targets));
}

void write_vision(const std::filesystem::path& to) {
    Generator generator(10);
    const VisionTransformer model(
        {.height = 16, .width = 16, .patch = 4, .classes = 5, .dim = 32, .heads = 2, .layers = 2},
        generator);
    const Tensor images = randn({1, 1, 16, 16}, generator);
    const Tensor labels = randint(0, 5, {1}, generator);
    write_page(to, model,
               {.title = "Vision Transformer",
                .subtitle = model.settings(),
                .image = PageImage{.pixels = views::reshape(images, {1, 16, 16}), .patch = 4}},
               [&] { return model.loss(images, labels); });
    write_predictions(to, predictions_of(model(images), labels));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "Usage: inspect_pages DIRECTORY\n");
        return 2;
    }
    const std::filesystem::path directory = argv[1];
    std::filesystem::create_directories(directory);
    write_gpt(directory / "gpt",
              {.vocab = 60, .context = 32, .layers = 2, .heads = 4, .dim = 32, .deviation = 0.3},
              16);
    write_gpt(directory / "large",
              {.vocab = 500, .context = 256, .layers = 6, .heads = 6, .dim = 384, .deviation = 0.1},
              256);
    write_gpt(directory / "long",
              {.vocab = 100, .context = 512, .layers = 4, .heads = 4, .dim = 128, .deviation = 0.2},
              512);
    // As many heads as GPT-2, of the same size, at 512 tokens; with tiny feed-forward layers.
    write_gpt(directory / "heads",
              {.vocab = 100,
               .context = 512,
               .layers = 12,
               .heads = 12,
               .dim = 768,
               .hidden = 32,
               .deviation = 0.05},
              512);
    // What the picture of a step must draw (tests/npm/drawings.js): one of everything, 48 layers,
    // words from right to left, and the fast recipe's model.
    write_gpt(directory / "one",
              {.vocab = 20, .context = 4, .layers = 1, .heads = 1, .dim = 8, .deviation = 0.3}, 1);
    write_gpt(directory / "deep",
              {.vocab = 60, .context = 32, .layers = 48, .heads = 4, .dim = 32, .deviation = 0.1},
              24);
    write_gpt(directory / "rtl",
              {.vocab = 60, .context = 32, .layers = 3, .heads = 2, .dim = 32, .deviation = 0.3},
              20, kRightToLeft);
    GPTConfig fast = settings_of(Recipe::fast).model;
    fast.vocab = 60, fast.context = 32, fast.layers = 4, fast.heads = 4, fast.dim = 64;
    write_gpt(directory / "fast", fast, 24, kWords, false);
    write_dead(directory / "dead");
    write_finding(directory / "finding");
    write_transformer(directory / "encoder_decoder");
    write_masked(directory / "masked");
    write_vision(directory / "vision");
    write_reports(directory);
    write_hostile(directory);
    write_ruined(directory);
    return 0;
}
