// Trains a small GPT on a text file with the library only, no command line framework: `train_gpt
// TEXT [STEPS]`. The tapestry command does the same with an option for every setting
// (examples/cli/train.cpp).
#include <tapestry/core/text/utf8.h>
#include <tapestry/tapestry.h>

#include <cstdlib>

using namespace tapestry;

namespace {

int run(const std::string& path, std::int64_t steps) {
    const std::string text = read_text(path);
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    const std::vector<std::int64_t> text_ids = tokenizer.encode(text);
    const TextData data(text_ids, {.name = path});

    Generator generator(1337);
    GPT model({.vocab = tokenizer.vocab_size(), .context = 64, .layers = 2, .heads = 4, .dim = 64},
              generator);
    fmt::print("{}\n", model.summary());

    const std::int64_t batch = 16;
    AdamW optimizer(decay_groups(model, 0.1), {.lr = 2e-3, .beta2 = 0.99});
    const TrainOptions options{
        .steps = steps,
        .clip = 1,
        .schedule = warmup_cosine_schedule(
            {.rate = 2e-3, .min_rate = 2e-4, .warmup = steps / 20, .steps = steps}),
        .eval_every = std::max<std::int64_t>(1, steps / 5)};
    double first_loss = 0;
    double last_loss = 0;
    train(optimizer, options,
          {.loss =
               [&] {
                   const Batch b = data.random_batch(Split::train, batch, 64, generator);
                   return model.loss(b.inputs, b.targets);
               },
           .evaluate =
               [&] {
                   Generator same(1);  // the same held-out samples every time
                   return evaluate(model, data, Split::validation, {.batches = 10}, same);
               },
           .report =
               [&](const StepMetrics& m) {
                   if (m.step == 1) first_loss = m.loss;
                   last_loss = m.loss;
                   if (m.val_loss) {
                       fmt::print("step {:5}  loss {:.3f}  held out {:.3f}  {:.1f} s\n", m.step,
                                  m.loss, *m.val_loss, m.seconds);
                   }
                   return true;
               }});

    model.eval();
    const std::vector<std::int64_t> prompt{text_ids.front()};
    const auto ids = sample(model, prompt, {.tokens = 200, .temperature = 0.8}, generator);
    fmt::print("\n{}\n", utf8::for_terminal(tokenizer.decode(prompt) + tokenizer.decode(ids)));
    return last_loss < first_loss ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const bool asks = argc == 2 && std::string_view(argv[1]) == "--help";
    if (argc < 2 || asks) {
        fmt::print(asks ? stdout : stderr, "usage: train_gpt TEXT [STEPS]\n");
        return asks ? 0 : 2;
    }
    try {
        return run(argv[1], argc > 2 ? std::atoll(argv[2]) : 500);
    } catch (const Error& error) {
        fmt::print(stderr, "train_gpt: {}\n", utf8::for_terminal(error.what()));
        return 2;
    }
}
