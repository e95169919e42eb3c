// chinese: translates English into Chinese, with beam search and an attention map. See chinese.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/chinese.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("chinese", "from English into Chinese, by beam search", kChineseOptions,
                        0.9);
    command.add_pairs(draw_chinese_pair, 6000, 500);
    return command.run(argc, argv, [](const TaskOptions& options) {
        const ChineseScores scores = learn_chinese(options);
        fmt::print(
            "\ngreedily: {:.1f} %; attention is greatest on a word that a character comes "
            "from: {:.1f} % of {}; by four beams:\n",
            100 * scores.greedy.share(), 100 * scores.aligned.share(), scores.aligned.of);
        return scores.beam;
    });
}
