#include <tapestry/nn/train/read_metrics.h>

#include <tapestry/nn/io/manifest.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/train/metrics_file.h>

#include <algorithm>
#include <limits>

namespace tapestry {
namespace {

// NaN and infinities are null in JSON.
double number_in(const JsonNode& line, const char* name) {
    const JsonNode found = line.at(name);
    if (found.is(JsonKind::null)) return std::numeric_limits<double>::quiet_NaN();
    require<IoError>(found.is(JsonKind::number), "\"{}\" is {}, which is no number", name,
                     found.shown());
    return found.get<double>();
}

JsonTree parse_line(std::string_view text) {
    try {
        return JsonTree(text);
    } catch (const JsonError&) {
        fail<IoError>("{} is not JSON", utf8::quoted(text, 60));
    }
}

// No line of a step: the end of a training, say.
bool is_event(const JsonNode& line, std::string_view text) {
    require<IoError>(line.is(JsonKind::object), "{} is not a JSON object", utf8::quoted(text, 60));
    return line.find("event").has_value();
}

void add_line(Metrics& metrics, const JsonNode& line) {
    const double step = number_in(line, "step"), loss = number_in(line, "loss");
    require<IoError>(step == step, "\"step\" is null");
    if (line.find("val_loss")) {
        metrics.val_losses.push_back(number_in(line, "val_loss"));
        metrics.eval_steps.push_back(step);
    }
    metrics.steps.push_back(step);
    metrics.losses.push_back(loss);
}

StepMetrics step_of(const JsonNode& line, std::int64_t tokens_per_step) {
    StepMetrics metrics{
        .step = line.count("step"),
        .loss = number_in(line, "loss"),
        .lr = number_in(line, "lr"),
        .grad_norm = number_in(line, "grad_norm"),
        .seconds = number_in(line, "seconds"),
        .step_seconds = static_cast<double>(tokens_per_step) / number_in(line, "tokens_per_s")};
    if (line.find("val_loss")) metrics.val_loss = number_in(line, "val_loss");
    if (line.find("grad_xxh3")) metrics.grad_xxh3 = line.get<std::string>("grad_xxh3");
    return metrics;
}

// add(line, text) for every step. A last line without its end may be half a line.
template <class Add>
void read_lines(const std::filesystem::path& file, const Add& add) {
    const std::string text = read_file(file);
    std::size_t number = 1, steps = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        try {
            const std::string_view written = std::string_view(text).substr(begin, end - begin);
            const JsonTree line = parse_line(written);
            if (!is_event(line.root(), written)) {
                add(line.root(), written);
                ++steps;
            }
        } catch (const Error& error) {
            if (end < text.size()) {
                fail<IoError>("{}: line {}: {}", shown(file), number, error.what());
            }
        }
        begin = end + 1;
    }
    require<IoError>(steps > 0, "{}: no step is in it yet", shown(file));
}

}  // namespace

Metrics read_metrics(const std::filesystem::path& file) {
    Metrics metrics;
    read_lines(file, [&](const JsonNode& line, std::string_view) { add_line(metrics, line); });
    return metrics;
}

std::vector<StepMetrics> read_steps(const std::filesystem::path& file,
                                    std::int64_t tokens_per_step) {
    std::vector<StepMetrics> steps;
    read_lines(file, [&](const JsonNode& line, std::string_view) {
        steps.push_back(step_of(line, tokens_per_step));
    });
    return steps;
}

std::string lines_of_steps(const std::filesystem::path& file, std::int64_t last) {
    std::string lines;
    read_lines(file, [&](const JsonNode& line, std::string_view text) {
        if (number_in(line, "step") <= static_cast<double>(last)) lines.append(text) += '\n';
    });
    return lines;
}

std::filesystem::path latest_metrics(const std::filesystem::path& directory) {
    std::error_code ignored;
    const std::filesystem::path unsaved = directory / kNewMetricsName;
    if (std::filesystem::exists(unsaved, ignored)) return unsaved;
    return SavedFiles(directory).path(kMetricsName);
}

}  // namespace tapestry
