// masked_words: a model of BERT's shape learns to guess hidden words. Read masked_words.h.
#include <tapestry/examples/tasks/masked_words.h>
#include <tapestry/examples/programs/task_command.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("masked_words: a model of BERT's shape learns to guess hidden words",
                        kMaskedWordsOptions, 0.5);
    command.add_page();
    std::size_t bytes = 1000000;
    command.app.add_option("--bytes", bytes, "Of stories to learn from")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{10000}, std::size_t{100000000}));
    return command.run(argc, argv, [&](const TaskOptions& options) {
        const Guesses guesses = learn_masked_words(options, bytes);
        fmt::print("the commonest word alone: {:.1f} %\n", 100 * guesses.commonest.share());
        return guesses.model;
    });
}
