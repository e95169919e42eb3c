// bottleneck: an LSTM encoder-decoder reverses letters, with and without Bahdanau's attention.
// Prints how often the whole sequence is right, by length. See bottleneck.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/bottleneck.h>

namespace {

using namespace tapestry::examples;

// The score is that of the longest sequences, with attention.
Score compare(const BottleneckOptions& options) {
    const std::vector<BottleneckRow> table = compare_at_bottleneck(options);
    fmt::print("\nwhole rows right\n{:>8}{:>20}{:>20}\n", "letters", "without attention",
               "with attention");
    for (const BottleneckRow& row : table) {
        fmt::print("{:>8}{:>18.0f} %{:>18.0f} %\n", row.length, 100 * row.without.share(),
                   100 * row.with.share());
    }
    fmt::print("\nthe longest, with attention: ");
    return table.back().with;
}

}  // namespace

int main(int argc, char** argv) {
    BottleneckOptions options;
    TaskCommand command("bottleneck", "letters written backwards, without attention and with it",
                        options.task, 0.95);
    return command.run(argc, argv, [&](const TaskOptions& task) {
        options.task = task;
        return compare(options);
    });
}
