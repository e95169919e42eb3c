// A training of a small GPT that answers back: its learning rate and dropout may change while it
// goes on, and between any two steps it can be asked for its report, for one step looked at from
// inside, for a sample. It is a Session as `tapestry train` has: as long as nothing is changed,
// both come to the same bits. Read next: exports.cpp, how a page calls it.
#pragma once

#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace tapestry::examples {

class Playground {
public:
    /// On a text, which becomes the file config.text. Throws as Session does.
    Playground(const std::string& text, const TrainingConfig& config);

    bool is_finished() const { return session_->is_finished(); }

    /// The next step, into the report. Throws DivergedError.
    StepMetrics step();

    /// From the next step on. The optimiser goes on with its moments, dropout with its random
    /// numbers. Throws ValueError for numbers out of range; nothing has changed then.
    void change(double lr, double dropout);

    /// What the model writes after `prompt`, or after the text's first token where that is empty.
    /// Throws ValueError for a prompt that it cannot read.
    std::string sample(const std::string& prompt, std::int64_t tokens, double temperature);

    /// The report page's data (nn/pages/report.h).
    std::string report(TrainingState state, const std::string& message = {}) const;

    /// The inspection page's data of one step on a sentence (nn/pages/page.h), after which nothing
    /// has changed. Throws ValueError for one that the model cannot read.
    std::string look(const std::string& sentence);

    /// SHA-256 of all parameters, as they follow one another in model.safetensors.
    std::string digest() const;

    const Session& session() const { return *session_; }

private:
    void watch();

    std::unique_ptr<Session> session_;
    TrainingReport report_;
    std::optional<GradientFlow> flow_;  // of a step that an evaluation follows
};

}  // namespace tapestry::examples
