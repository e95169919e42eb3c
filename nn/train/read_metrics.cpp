#include <tapestry/nn/train/read_metrics.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/train/metrics_file.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace tapestry {
namespace {

using Json = nlohmann::json;

// NaN and infinities are null in JSON.
double number_in(const Json& line, const char* name) {
    const auto found = line.find(name);
    require<IoError>(found != line.end(), "\"{}\" is missing", name);
    if (found->is_null()) return std::numeric_limits<double>::quiet_NaN();
    require<IoError>(found->is_number(), "\"{}\" is {}, which is no number", name,
                     found->is_structured() ? found->type_name() : found->dump());
    return found->get<double>();
}

void add_line(Metrics& metrics, std::string_view text) {
    Json line;
    try {
        line = Json::parse(text);
    } catch (const Json::exception&) {
        fail<IoError>("{} is not JSON", utf8::quoted(text, 60));
    }
    require<IoError>(line.is_object(), "{} is not a JSON object", utf8::quoted(text, 60));
    if (line.contains("event")) return;  // the end, and what else is no step
    const double step = number_in(line, "step"), loss = number_in(line, "loss");
    require<IoError>(step == step, "\"step\" is null");
    if (line.contains("val_loss")) {
        metrics.val_losses.push_back(number_in(line, "val_loss"));
        metrics.eval_steps.push_back(step);
    }
    metrics.steps.push_back(step);
    metrics.losses.push_back(loss);
}

}  // namespace

Metrics read_metrics(const std::filesystem::path& file) {
    const std::string text = read_file(file);
    const std::string shown = utf8::quoted(file.native(), 300);
    Metrics metrics;
    std::size_t number = 1;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        try {
            add_line(metrics, std::string_view(text).substr(begin, end - begin));
        } catch (const IoError& error) {
            if (end < text.size()) fail<IoError>("{}: line {}: {}", shown, number, error.what());
        }
        begin = end + 1;
    }
    require<IoError>(!metrics.steps.empty(), "{}: no step is in it yet", shown);
    return metrics;
}

std::filesystem::path latest_metrics(const std::filesystem::path& directory) {
    std::error_code ignored;
    const std::filesystem::path unsaved = directory / kNewMetricsName;
    return std::filesystem::exists(unsaved, ignored) ? unsaved : directory / kMetricsName;
}

}  // namespace tapestry
