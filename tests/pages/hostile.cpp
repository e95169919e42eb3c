#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/tests/pages/pages.h>

namespace tapestry {
namespace {

const std::string kText =
    "</script><script>alert(1)</script><img src=x onerror=alert(1)><!--\"'&\u2028<b>";

// A GPT with such parameter names.
class Hostile : public Module {
public:
    explicit Hostile(Generator& generator)
        : Module("Hostile"),
          gpt({.vocab = 9, .context = 8, .layers = 1, .heads = 2, .dim = 8}, generator) {
        register_module(kText, gpt);
    }
    GPT gpt;
};

std::string inspect_page() {
    Generator generator(1);
    const Hostile model(generator);
    Inspector inspector(model);
    const Tensor ids = tensor<std::int64_t>({1, 2, 3, 4, 5, 6}, {1, 6});
    Tape tape;
    tape.backward(model.gpt.loss(ids, ids));
    inspector.finish();
    return to_html(inspector, {.title = kText,
                               .subtitle = kText,
                               .texts = {{.queries = std::vector<std::string>(6, kText)}},
                               .name_of = [](std::int64_t) { return kText; },
                               .prompt = kText});
}

SentenceProbe look() {
    SentenceProbe look;
    AttentionTrace seen;
    seen.module = kText;
    seen.heads = seen.queries = seen.keys = 1;
    seen.weights = {1};
    seen.entropy = {0};
    look.attention.push_back(seen);
    look.rows.push_back({.right = 1, .loss = 0.7, .rank = 2, .likeliest = {{1, 0.5}}});
    return look;
}

std::string report_page() {
    TrainingReport report({.title = kText,
                           .subtitle = kText,
                           .command = kText,
                           .rewind = kText,
                           .options = {{kText, kText, kText}},
                           .expected = {{kText, 1.1, kText}},
                           .steps = 100,
                           .tokens_per_step = 10,
                           .sentence = {kText, kText},
                           .name_of = [](std::int64_t) { return kText; }});
    report.set_processes({{.host = kText}, {.host = kText}});
    for (std::int64_t step = 1; step <= 100; ++step) {
        const double loss = step == 100 ? 5 : 1 + 0.1 * static_cast<double>(step % 3);
        report.add({.step = step, .loss = loss, .lr = 0.1, .grad_norm = 1, .step_seconds = 1});
    }
    const ParameterFlow flow{.name = kText, .shape = {1}, .value_rms = 1};
    report.add({.step = 100, .val_loss = 1.5, .sample = kText, .flow = {flow}, .look = look()});
    return to_html(report, {.state = TrainingState::failed, .message = kText});
}

}  // namespace

void write_hostile(const std::filesystem::path& directory) {
    write_file_atomically(directory / "hostile.html", inspect_page());
    write_file_atomically(directory / "hostile_report.html", report_page());
}

}  // namespace tapestry
