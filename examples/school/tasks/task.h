// What the small tasks share (sort, addition, dates, masked_words, shapes): how they are trained,
// how answers are counted, what is held out, and how one step on a held-out question becomes a
// page. Each has a header, which says what it is about, and a program of its name in
// examples/programs; read sort.h first.
#pragma once

#include <tapestry/tapestry.h>

#include <string_view>

namespace tapestry::examples {

struct TaskOptions {
    std::int64_t steps = 1000;
    std::int64_t batch = 64;
    double rate = 1e-3;  ///< learning rate, after a warm-up; falls to a twentieth of it
    std::uint64_t seed = 1;
    bool print = true;      ///< a line now and then
    std::string page = {};  ///< file for a page of one step (write_page); empty: none
    std::string out = {};   ///< directory for the trained model, where a task saves it; empty: none
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

/// One in `every` questions is held out, chosen by what it is (FNV-1a): it can never be trained on,
/// whatever random numbers make it.
bool held_out(std::string_view question, std::uint64_t every);

/// Evaluation mode, and no tape, in this scope.
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

/// options.steps steps of AdamW on loss(), the loss of another batch each time. `score` counts
/// right answers to a few held-out questions, for the progress.
void fit(Module& model, const TaskOptions& options, const std::function<Tensor()>& loss,
         const std::function<Score()>& score);

// ---- --page: after training, one step on a held-out question as a page (docs/inspect.md)

struct TaskQuestion {
    std::string what;  ///< "a story with hidden words"
    std::vector<PageText> texts;
    std::function<std::string(std::int64_t)> name_of;  ///< of what is to be predicted
    std::function<Tensor()> loss;                      ///< asks it
    std::optional<PageImage> image = {};
};

/// Writes the page that options.page asks for, or nothing. Throws IoError.
void write_page(const TaskOptions& options, Module& model, const TaskQuestion& question);

/// A text as its characters, a token each.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace tapestry::examples
