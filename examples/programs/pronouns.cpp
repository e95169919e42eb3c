// pronouns: which noun "it" or 它 refers to, in sentences whose nouns were not paired in training.
// See pronouns.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/pronouns.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("pronouns", "which noun does \"it\" mean?", kPronounsOptions, 0.9);
    std::string language = "both";
    command.options.choice("--language", language, {"english", "chinese", "both"},
                           "english, chinese, or one after the other");
    return command.run(argc, argv, [&](const TaskOptions& options) {
        Score all;
        for (const Language one : {Language::english, Language::chinese}) {
            const std::string name = one == Language::english ? "english" : "chinese";
            if (language != name && language != "both") continue;
            const RiddleScores scores = learn_pronouns(one, options);
            fmt::print("{}: {} of {} right; always the first noun: {:.1f} %\n", name,
                       scores.model.right, scores.model.of, 100 * scores.first_noun.share());
            all += scores.model;
        }
        return all;
    });
}
