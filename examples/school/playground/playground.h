// A training of a small GPT that answers back: its learning rate and dropout may change while it
// goes on, parts of the model may be taken away and backward rules broken, and between any two
// steps it can be asked for its report, for one step looked at from inside, for a sample. It is a
// Session as `tapestry train` has: as long as nothing is changed, both come to the same bits, and
// each goes on with what the other has saved. Read next: exports.cpp, how a page calls it.
#pragma once

#include <tapestry/examples/school/playground/broken_rule.h>
#include <tapestry/examples/school/playground/taken_away.h>
#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/session.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::examples {

// ---- a run as the directory that `tapestry train` keeps (docs/checkpoints.md), so that
// either goes on with what the other has begun; under TAPESTRY_ISA=baseline to the same bits
// (nn/train/run_directory.h)

/// How a run went, besides what its session knows.
struct RunSoFar {
    RunState state = {};
    std::vector<StepMetrics> steps = {};
};

/// What `tapestry train --resume --out DIRECTORY` goes on with, but for the text; what was in the
/// directory is gone. Throws IoError.
void save_run(Session& session, const RunSoFar& run, const std::filesystem::path& directory);

struct OpenedRun {
    std::unique_ptr<Session> session;
    RunSoFar run = {};
    std::filesystem::path directory = {};
    std::vector<std::string> differs = {};  ///< "isa", "version": the steps' bits will, too
};

/// Where the latest checkpoint left it. `text` is the file it learns from, wherever that was.
/// Throws IoError where there is no checkpoint, and as RunDirectory::resume does.
OpenedRun open_run(const std::filesystem::path& directory, const std::string& text);

// ---- the run

/// With parts taken away, and without.
struct Losses {
    double as_it_stands = 0;
    double whole = 0;
};

class Playground {
public:
    /// On a text, which becomes the file config.text. Throws as Session does.
    Playground(const std::string& text, const TrainingConfig& config);

    /// Goes on with a run that was saved.
    explicit Playground(OpenedRun opened);

    bool is_finished() const { return session_->is_finished(); }

    /// The next step, into the report. Throws DivergedError.
    StepMetrics step();

    /// The next step, and what its operations did one by one: OpTrace::to_json().
    std::string step_by_operations();

    /// From the next step on. The optimiser goes on with its moments, dropout with its random
    /// numbers. Throws ValueError for numbers out of range; nothing has changed then.
    void change(double lr, double dropout);

    /// From now on the model goes without these parts; without none, it is whole. Throws as
    /// TakenAway does; nothing has changed then.
    void take_away(const Parts& parts);

    /// From now on this backward rule is broken in every step; nothing: none is.
    void break_rule(std::optional<BrokenRule> rule) { rule_ = std::move(rule); }

    /// What the gradient checker says of the model's build, under the rule that is broken.
    GradcheckReport check_gradients() const;

    /// As a directory that `tapestry train --resume` goes on with: save_run().
    void save(const std::filesystem::path& directory);

    /// What the model writes after `prompt`, or after the text's first token where that is empty.
    /// Throws ValueError for a prompt that it cannot read.
    std::string sample(const std::string& prompt, std::int64_t tokens, double temperature);

    /// The report page's data (nn/pages/report.h).
    std::string report(TrainingState state, const std::string& message = {}) const;

    /// The inspection page's data of one step on a sentence (nn/pages/page.h), after which nothing
    /// has changed. Throws ValueError for one that the model cannot read.
    std::string look(const std::string& sentence);

    /// Where heads look when the model reads a sentence: of each layer the weights [H, T, T], one
    /// row for each token. Throws ValueError as look() does.
    Tensors heads(const std::string& sentence);

    /// What the latest step that was looked at did to every parameter, and a wish to have the next
    /// looked at.
    const std::vector<ParameterFlow>& flow();

    /// On the validation part.
    Losses losses();

    /// SHA-256 of all parameters, as they follow one another in model.safetensors.
    std::string digest() const;

    const Session& session() const { return *session_; }

private:
    void note(const StepMetrics& metrics);
    void watch();
    void note_change();
    std::vector<std::int64_t> ids_of(const std::string& sentence, std::int64_t least,
                                     std::int64_t most) const;

    std::unique_ptr<Session> session_;
    RunSoFar run_;
    std::filesystem::path directory_;  // that it was opened from, or none
    TrainingReport report_;
    std::optional<GradientFlow> flow_;  // of a step that is looked at
    bool flow_is_asked_for_ = false;    // of the next, which no evaluation may follow
    std::vector<ParameterFlow> latest_flow_;
    Parts parts_;
    std::optional<TakenAway> taken_away_;
    std::optional<BrokenRule> rule_;
};

}  // namespace tapestry::examples
