// tapestry answer: answers questions about passages with a model that `tapestry train --task
// answer` has trained.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/train/answer/answer_task.h>

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

namespace tapestry::cli {
namespace {

struct AnswerSettings {
    std::string model, questions, passage;
    std::optional<std::string> question;
    std::int64_t top_k = 1;
    bool probabilities = false;
    int threads = num_threads();
};

// "the old box", or with probabilities "the old box\t0.91\ta box\t0.03"
void print_answers(const std::vector<FoundAnswer>& answers, const AnswerSettings& s) {
    std::string line;
    for (const FoundAnswer& one : answers) {
        if (!line.empty()) line += '\t';
        line += utf8::printable(one.text);
        if (s.probabilities) line += fmt::format("\t{:.4f}", one.probability);
    }
    print("{}\n", line);
}

int answer_file(const AnswerTask& task, const AnswerSettings& s) {
    const Questions questions = read_questions(s.questions, AnswersRead::none);
    for (const PassageQuestion& q : questions.all) {
        if (interrupted()) return kInterrupted;
        try {
            print_answers(task.answer(q.passage, q.question, s.top_k), s);
        } catch (const ValueError& error) {
            fail<IoError>("{}:{}: {}", questions.file, q.line, error.what());
        }
    }
    return kSuccess;
}

// Questions of standard input, a line each, about one passage.
int answer_lines(const AnswerTask& task, const std::string& passage, const AnswerSettings& s) {
    return for_each_line("-", [&](const std::string& line) {
        print_answers(task.answer(passage, line, s.top_k), s);
    });
}

int run_answer(const AnswerSettings& s) {
    set_num_threads(s.threads);
    require(s.questions.empty() || !s.question, "answer: --questions has questions; leave out {}",
            utf8::quoted(s.question.value_or(""), 40));
    const std::unique_ptr<AnswerTask> task = load_answer_task(s.model);
    catch_interrupts();
    if (!s.questions.empty()) return answer_file(*task, s);
    const std::string passage = read_text(s.passage);
    if (!s.question) return answer_lines(*task, passage, s);
    print_answers(task->answer(passage, *s.question, s.top_k), s);
    return kSuccess;
}

}  // namespace

void add_answer(Options& app) {
    auto s = std::make_shared<AnswerSettings>();
    Options& o = app.subcommand("answer", "Answer questions about a text with a trained model");
    o.example("--model runs/reader --passage story.txt \"where is the green doll?\"");
    o.text("--model", s->model, "Directory written by `tapestry train --task answer`").required();
    o.text("QUESTION", s->question, "Question; without it those of standard input, a line each");
    Option passage =
        o.text("--passage", s->passage, "UTF-8 file with the text that has the answer");
    o.text("--questions", s->questions,
           "File of questions with their passages, as for `tapestry train`; answers are not read")
        .excludes(passage);
    o.require_any({"--passage", "--questions"});
    o.count("--top-k", s->top_k, "Answers to print for each question, the likeliest first");
    o.flag("--probabilities", s->probabilities, "Print the probability after each answer");
    o.threads(s->threads);
    o.run([s] { return run_answer(*s); });
}

}  // namespace tapestry::cli
