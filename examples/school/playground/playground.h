// An interactive training run of a small GPT: its learning rate and dropout can change while it
// trains, parts of the model can be removed and backward rules broken, and between any two steps it
// can produce its report, an inspected step, or a sample. It is a Session like `tapestry train`'s:
// as long as nothing is changed, both give identical bits, and each can resume what the other
// saved. Read next: exports.cpp, how a page calls it.
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

// ---- a run in the directory format of `tapestry train` (docs/checkpoints.md), so either can
// resume the other's run; with TAPESTRY_ISA=baseline, bit for bit (nn/train/run_directory.h)

/// The history of a run that its session does not store.
struct RunSoFar {
    RunState state = {};
    std::vector<StepMetrics> steps = {};
};

/// Saves everything `tapestry train --resume --out DIRECTORY` needs except the text, replacing the
/// directory's contents. Throws IoError.
void save_run(Session& session, const RunSoFar& run, const std::filesystem::path& directory);

struct OpenedRun {
    std::unique_ptr<Session> session;
    RunSoFar run = {};
    std::filesystem::path directory = {};
    std::vector<std::string> differs = {};  ///< "isa", "version": so will the next steps' bits
};

/// Opens the run at its latest checkpoint. `text` is the training text's path here. Throws IoError
/// if there is no checkpoint, ValueError if the model is no GPT, and as RunDirectory::resume does.
OpenedRun open_run(const std::filesystem::path& directory, const std::string& text);

// ---- the run

/// Validation losses of the model with the chosen parts removed, and of the whole model.
struct Losses {
    double as_it_stands = 0;
    double whole = 0;
};

class Playground {
public:
    /// Starts on a text, which is written to the file config.text. Throws as Session does.
    Playground(const std::string& text, const TrainingConfig& config);

    /// Resumes a saved run.
    explicit Playground(OpenedRun opened);

    bool is_finished() const { return session_->is_finished(); }

    /// Takes the next step and adds it to the report. Throws DivergedError.
    StepMetrics step();

    /// Takes the next step and returns OpTrace::to_json() of its operations.
    std::string step_by_operations();

    /// Takes effect at the next step. The optimiser keeps its moments, dropout its random stream.
    /// Throws ValueError for numbers out of range, leaving everything unchanged.
    void change(double lr, double dropout);

    /// Adds `steps` to the run's steps; a learning rate that falls until the end then falls until
    /// the new one. Throws ValueError for less than one, and as change()
    /// does.
    void take_more(std::int64_t steps);

    /// Removes these parts of the model, until the next call; empty restores the whole model.
    /// Throws as TakenAway does, leaving everything unchanged.
    void take_away(const Parts& parts);

    /// Breaks this backward rule in every step from now on; nullopt restores it.
    void break_rule(std::optional<BrokenRule> rule) { rule_ = std::move(rule); }

    /// Checks the gradients of a small model with the same architecture and the broken rule.
    GradcheckReport check_gradients() const;

    /// Saves a directory that `tapestry train --resume` can continue: save_run().
    void save(const std::filesystem::path& directory);

    /// Generates text after `prompt`, or after the text's first token if `prompt` is empty. Throws
    /// ValueError for a prompt that cannot be tokenized.
    std::string sample(const std::string& prompt, std::int64_t tokens, double temperature);

    /// The report page's data (nn/pages/report.h).
    std::string report(TrainingState state, const std::string& message = {}) const;

    /// The inspection page's data of one step on a sentence (nn/pages/page.h), leaving the run
    /// unchanged. Throws ValueError for a sentence that cannot be tokenized.
    std::string look(const std::string& sentence);

    /// Attention weights for a sentence: [H, T, T] per layer, one row per query token. Throws
    /// ValueError as look() does.
    Tensors heads(const std::string& sentence);

    /// The latest observed step's effect on every parameter. Also requests that the next step be
    /// observed.
    const std::vector<ParameterFlow>& flow();

    /// On the validation split.
    Losses losses();

    /// SHA-256 of all parameters in the order of model.safetensors.
    std::string digest() const;

    const Session& session() const { return *session_; }

private:
    void note(const StepMetrics& metrics);
    void watch();
    void continue_with(const TrainingConfig& config, const std::vector<std::string>& changed);
    void note_change(const std::vector<std::string>& changed);
    std::vector<std::int64_t> ids_of(const std::string& sentence, std::int64_t least,
                                     std::int64_t most) const;

    std::unique_ptr<Session> session_;
    RunSoFar run_;
    std::filesystem::path directory_;  // that the run was opened from; may be empty
    TrainingReport report_;
    std::optional<GradientFlow> flow_;  // of an observed step
    bool flow_is_asked_for_ = false;    // for the next step, evaluated or not
    std::vector<ParameterFlow> latest_flow_;
    Parts parts_;
    std::optional<TakenAway> taken_away_;
    std::optional<BrokenRule> rule_;
};

}  // namespace tapestry::examples
