#include <tapestry/examples/school/playground/playground.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/school/playground/op_trace.h>
#include <tapestry/examples/school/playground/sha256.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/nn/train/step_on_text.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::examples {

// ---- a run as a directory

void save_run(Session& session, const RunSoFar& run, const std::filesystem::path& directory) {
    std::filesystem::remove_all(directory);
    const RunDirectory locked(directory);
    MetricsFile metrics(directory);
    const auto tokens = static_cast<double>(session.config().tokens_per_step());
    for (const StepMetrics& m : run.steps) {
        metrics.write(metrics_line(m, tokens / m.step_seconds));
    }
    CheckpointWriter writer(locked, session, metrics);
    writer.start(run.state, {.at_once = true});
    writer.wait();
    require<IoError>(!writer.problem(), "{}", writer.problem().message);
}

OpenedRun open_run(const std::filesystem::path& directory, const std::string& text) {
    RunDirectory locked(directory);
    OpenedRun opened{
        .session = locked.resume(
            {.wanted = {.text = text}, .given = {"text"}, .overrides = {"isa", "version"}}),
        .directory = directory};
    require<IoError>(opened.session != nullptr, "{}: has no checkpoint to continue from",
                     directory.string());
    as<GPT>(opened.session->model());  // all that can be taken away is a GPT's
    opened.differs = opened.session->overridden();
    opened.run.state = *locked.resumed();
    if (opened.session->steps() > 0) {
        opened.run.steps =
            read_steps(directory / kMetricsName, opened.session->config().tokens_per_step());
    }
    return opened;
}

// ---- the run

namespace {

constexpr std::int64_t kSampleTokens = 120;
constexpr double kSampleTemperature = 0.8;

using Ids = std::vector<std::int64_t>;

// A run reads its text again when a setting changes: a text with which no run can begin must not
// take the place of the previous run's.
std::unique_ptr<Session> begin(const std::string& text, const TrainingConfig& config) {
    std::optional<std::string> before;
    if (is_there(config.text)) before = read_file(config.text);
    write_file_atomically(config.text, text, {.sync = false});
    try {
        return std::make_unique<Session>(config);
    } catch (...) {
        if (before) write_file_atomically(config.text, *before, {.sync = false});
        throw;
    }
}

// Evaluation mode in this scope, also if what needs it throws: a run continues in training mode.
class Evaluating {
public:
    explicit Evaluating(Module& model) : model_(model) { model_.eval(); }
    ~Evaluating() { model_.train(); }
    Evaluating(const Evaluating&) = delete;
    Evaluating& operator=(const Evaluating&) = delete;

private:
    Module& model_;
};

double now_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

}  // namespace

Playground::Playground(const std::string& text, const TrainingConfig& config)
    : Playground(OpenedRun{.session = begin(text, config)}) {
    run_.state.segments = {{.config = to_json(session_->config())}};
}

Playground::Playground(OpenedRun opened)
    : session_(std::move(opened.session)),
      run_(std::move(opened.run)),
      directory_(std::move(opened.directory)),
      report_(recipe_of(*session_, {}, 0)) {
    for (const StepMetrics& metrics : run_.steps) report_.add(metrics);
    watch();
}

void Playground::watch() {
    session_->watch({.before_update = [this, loop = session_->config().loop()](std::int64_t step) {
        if (!loop.evaluates_after(step) && !flow_is_asked_for_) return;
        flow_is_asked_for_ = false;
        flow_.emplace(session_->model());
        flow_->before_update();
    }});
}

StepMetrics Playground::step() {
    const StepMetrics metrics = [this] {
        const RuleBreaker broken(rule_);
        return session_->take_step();
    }();
    note(metrics);
    return metrics;
}

// Adds the step to the run and to the report.
void Playground::note(const StepMetrics& metrics) {
    run_.steps.push_back(metrics);
    run_.state.seconds = metrics.seconds;
    report_.add(metrics);
    if (!flow_) return;
    latest_flow_ = flow_->after_update();
    flow_.reset();
    if (metrics.val_loss) {
        report_.add({.step = metrics.step,
                     .val_loss = metrics.val_loss,
                     .sample = sample({}, kSampleTokens, kSampleTemperature),
                     .flow = latest_flow_});
    }
}

std::string Playground::step_by_operations() {
    const RuleBreaker broken(rule_);  // before the trace, which then sees its effect
    const OpTrace trace(session_->model());
    note(session_->take_step());
    return trace.to_json();
}

void Playground::change(double lr, double dropout) {
    TrainingConfig config = session_->config();
    const double decay = config.lr > 0 ? config.min_lr / config.lr : 0;
    config.lr = lr;
    config.min_lr = decay * lr;
    config.model.dropout = dropout;
    continue_with(config, {"lr", "min_lr", "dropout"});
}

void Playground::take_more(std::int64_t steps) {
    require(steps > 0, "steps: {} more; at least 1 is needed", steps);
    TrainingConfig config = session_->config();
    config.steps += steps;
    continue_with(config, {"steps"});
    report_.plan(config.steps);
}

void Playground::continue_with(const TrainingConfig& config,
                               const std::vector<std::string>& changed) {
    // A character tokenizer is rebuilt from the text, identically.
    auto next =
        session_->continued(config, directory_.empty() ? nullptr : load_tokenizer(directory_));
    next->set_seconds_before(report_.latest().seconds);
    taken_away_.reset();  // its model is about to be destroyed
    session_ = std::move(next);
    if (parts_.any()) taken_away_.emplace(as<GPT>(session_->model()), parts_);
    watch();
    note_change(changed);
}

// Records in the run which steps used which settings.
void Playground::note_change(const std::vector<std::string>& changed) {
    std::vector<RunSegment>& segments = run_.state.segments;
    const std::string config = to_json(session_->config());
    if (segments.back().first_step == session_->steps() + 1) {
        segments.back().config = config;
        for (const std::string& name : changed) {
            if (segments.size() == 1) break;  // nothing was taken before it
            auto& known = segments.back().overrides;
            if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
        }
    } else {
        segments.push_back({session_->steps() + 1, config, changed});
    }
}

void Playground::take_away(const Parts& parts) {
    std::optional<TakenAway> next(std::in_place, as<GPT>(session_->model()), parts);
    taken_away_.swap(next);
    parts_ = parts;
}

GradcheckReport Playground::check_gradients() const {
    const RuleBreaker broken(rule_);
    return check_build(session_->config().model);
}

void Playground::save(const std::filesystem::path& directory) {
    save_run(*session_, run_, directory);
}

std::string Playground::sample(const std::string& prompt, std::int64_t tokens, double temperature) {
    const Tokenizer& tokenizer = session_->tokenizer();
    const Ids ids = prompt.empty() ? session_->data().ids(Split::all).read(0, 1)
                                   : tokenizer.encode(prompt, "prompt");
    Generator generator = stream(session_->config().seed, Stream::samples);
    const Evaluating evaluating(session_->model());
    const Ids drawn = tapestry::sample(session_->model(), ids,
                                       {.tokens = tokens, .temperature = temperature}, generator);
    StreamDecoder text(tokenizer);
    std::string all;
    for (const std::int64_t id : ids) all += text.next(id);
    for (const std::int64_t id : drawn) all += text.next(id);
    return all + text.finish();
}

std::string Playground::report(TrainingState state, const std::string& message) const {
    return to_json(report_, {.state = state, .message = message, .written = now_since_1970()});
}

std::string Playground::look(const std::string& sentence) {
    const Ids ids = ids_of(sentence, 2, session_->config().model.context + 1);
    const auto count = std::ssize(ids) - 1;
    const Tensor all = tensor(ids, {1, count + 1});
    const Tensor inputs = views::slice(all, 1, 0, count);
    const Tensor targets = views::slice(all, 1, 1, count + 1);
    GPT& model = as<GPT>(session_->model());
    model.zero_grad();
    const Evaluating evaluating(model);
    const RuleBreaker broken(rule_);  // before the Inspector, which then sees its effect
    Inspector inspector(model);
    {
        Tape tape;
        tape.backward(model.loss(inputs, targets));
        inspector.finish();
    }
    const auto read = std::span(ids).first(ids.size() - 1);
    return to_json(inspector, {.title = "One step",
                               .texts = {{.queries = token_texts(session_->tokenizer(), read)}},
                               .name_of = [&names = session_->tokenizer()](std::int64_t id) {
                                   return token_texts(names, {&id, 1}).front();
                               }});
}

Ids Playground::ids_of(const std::string& sentence, std::int64_t least, std::int64_t most) const {
    Ids ids = session_->tokenizer().encode(sentence, "sentence");
    require(std::ssize(ids) >= least && std::ssize(ids) <= most,
            "sentence: {} characters; from {} to {} are needed", ids.size(), least, most);
    return ids;
}

Tensors Playground::heads(const std::string& sentence) {
    const Ids ids = ids_of(sentence, 1, session_->config().model.context);
    GPT& model = as<GPT>(session_->model());
    std::vector<AttentionRecord> records;
    const Evaluating evaluating(model);
    model(tensor(ids, {1, std::ssize(ids)}), {.records = &records});
    Tensors weights;
    for (const AttentionRecord& record : records) {
        weights.push_back(views::select("heads", record.weights, 0, 0));
    }
    return weights;
}

const std::vector<ParameterFlow>& Playground::flow() {
    flow_is_asked_for_ = true;
    return latest_flow_;
}

Losses Playground::losses() {
    Losses losses{.as_it_stands = session_->evaluate()};
    losses.whole = losses.as_it_stands;
    if (parts_.any()) {
        taken_away_.reset();
        losses.whole = session_->evaluate();
        taken_away_.emplace(as<GPT>(session_->model()), parts_);
    }
    return losses;
}

std::string Playground::digest() const {
    Sha256 digest;
    for (const auto& [name, tensor] : saved_tensors(session_->model())) {
        const std::vector<float> values = tensor.to_vector<float>();
        digest.add(std::as_bytes(std::span(values.data(), values.size())));
    }
    return digest.hex();
}

}  // namespace tapestry::examples
