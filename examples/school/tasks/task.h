// Code that the small tasks share (digits, dates, masked_words, shapes): training, counting
// right answers, holding out questions, and showing one step on a held-out question as a page. Each
// task has a header that explains it and a program in examples/programs; read digits.h first.
#pragma once

#include <tapestry/tapestry.h>

#include <string_view>

namespace tapestry::examples {

struct TaskOptions {
    std::int64_t steps = 1000;
    std::int64_t batch = 64;
    double rate = 1e-3;  ///< peak learning rate after warm-up; decays to a twentieth
    std::uint64_t seed = 1;
    bool print = true;      ///< print progress lines
    std::string page = {};  ///< file for a page of one step (write_page); empty: none
    std::string out = {};   ///< directory for the trained model, in tasks that save it; empty: none
};

/// How often a model was right.
struct Score {
    std::int64_t right = 0;
    std::int64_t of = 0;
    double share() const {
        return of == 0 ? 0 : static_cast<double>(right) / static_cast<double>(of);
    }
    Score& operator+=(const Score& more) {
        right += more.right;
        of += more.of;
        return *this;
    }
};

/// Holds out one question in `every`, chosen by its hash (FNV-1a), so a held-out question can never
/// appear in training, whichever random numbers produce it.
bool held_out(std::string_view question, std::uint64_t every);

/// A question and its answer, both texts.
struct Pair {
    std::string source, target;
};

using DrawPair = std::function<Pair(bool for_test, Generator& generator)>;

/// Sets evaluation mode and disables recording in this scope.
class Answering {
public:
    explicit Answering(Module& model) : model_(model) { model_.eval(); }
    ~Answering() { model_.train(); }
    Answering(const Answering&) = delete;
    Answering& operator=(const Answering&) = delete;

private:
    Module& model_;
    NoGradGuard no_grad_;
};

/// Runs options.steps steps of AdamW on loss(), which draws a new batch each time. `score` counts
/// right answers to a few held-out questions for the progress lines.
void fit(Module& model, const TaskOptions& options, const std::function<Tensor()>& loss,
         const std::function<Score()>& score);

// ---- --page: after training, one step on a held-out question as a page (docs/inspect.md)

struct TaskQuestion {
    std::string what;  ///< "a story with hidden words"
    std::vector<PageText> texts;
    std::function<std::string(std::int64_t)> name_of;  ///< name of a target id
    std::function<Tensor()> loss;                      ///< computes the loss on the question
    std::optional<PageImage> image = {};
};

/// Writes the page named by options.page, if any. Throws IoError.
void write_page(const TaskOptions& options, Module& model, const TaskQuestion& question);

/// The characters of a text, one token each.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace tapestry::examples
