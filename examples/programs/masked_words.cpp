// masked_words: a BERT-like model learns to predict hidden words. See masked_words.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/masked_words.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("masked_words", "a model of BERT's shape learns to guess hidden words",
                        kMaskedWordsOptions, 0.5);
    command.add_page();
    std::int64_t bytes = 1000000;
    command.options.count("--bytes", bytes, "Bytes of stories to train on", {10000, 100000000});
    return command.run(argc, argv, [&](const TaskOptions& options) {
        const Guesses guesses = learn_masked_words(options, static_cast<std::size_t>(bytes));
        fmt::print("the most common word everywhere: {:.1f} %\n", 100 * guesses.commonest.share());
        return guesses.model;
    });
}
