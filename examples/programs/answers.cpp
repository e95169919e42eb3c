// answers: where in a text is the answer to a question? See answers.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/answers.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("answers", "where in a text the answer to a question begins and ends",
                        kAnswersOptions, 0.9);
    command.add_file("--questions", "passage\tquestion\tanswer\tstart", draw_question_line, 8000,
                     500);
    return command.run(argc, argv, [](const TaskOptions& options) {
        const AnswerScores scores = learn_answers(options);
        fmt::print(
            "\nthe right kind from any fact: {:.0f} %; begin right: {:.1f} %; begin and end:\n",
            100 * scores.guess.share(), 100 * scores.begin.share());
        return scores.exact;
    });
}
