#include <tapestry/nn/pages/prediction_json.h>

#include <tapestry/nn/pages/html.h>

#include <algorithm>
#include <set>

namespace tapestry {
namespace {

// [right, loss, rank, [[id, probability], ...]]; right is null where the loss does not count it.
void write(JsonWriter& json, const Prediction& row) {
    json.array([&] {
        if (row.right < 0) {
            json.value(nullptr);
        } else {
            json.value(row.right);
        }
        json.value(six_digits(row.loss));
        json.value(row.rank);
        json.value([&] {
            json.array([&] {
                for (const PredictedClass& each : row.likeliest) {
                    json.value([&] {
                        json.array([&] {
                            json.value(each.id);
                            json.value(six_digits(each.probability));
                        });
                    });
                }
            });
        });
    });
}

// [loss, rank, id, probability]: of a layer the likeliest alone.
void write_short(JsonWriter& json, const Prediction& row) {
    json.array([&] {
        json.value(six_digits(row.loss));
        json.value(row.rank);
        json.value(row.likeliest.front().id);
        json.value(six_digits(row.likeliest.front().probability));
    });
}

// The names of all classes that the rows speak of.
void write_names(JsonWriter& json, const PredictionTrace& trace,
                 const std::function<std::string(std::int64_t)>& name_of) {
    std::set<std::int64_t> used;
    for (const Prediction& row : trace.rows) {
        if (row.right >= 0) used.insert(row.right);
        for (const PredictedClass& each : row.likeliest) used.insert(each.id);
    }
    for (const LayerPredictions& layer : trace.layers) {
        for (const Prediction& row : layer.rows) used.insert(row.likeliest.front().id);
    }
    json.object([&] {
        for (const std::int64_t id : used) json.member(std::to_string(id), name_of(id));
    });
}

// A layer whose queries see no later keys is one of a model that predicts what comes next.
bool looks_back(const std::vector<AttentionTrace>& attention, const std::string& layer) {
    return std::any_of(attention.begin(), attention.end(), [&layer](const AttentionTrace& each) {
        return each.causal && each.module.starts_with(layer);
    });
}

}  // namespace

void write_predictions(JsonWriter& json, const Inspector& inspector, const PageOptions& options) {
    const std::optional<PredictionTrace>& trace = inspector.predictions();
    if (!trace) return json.value(nullptr);
    json.object([&] {
        json.member("entry", trace->entry);
        json.member("classes", trace->classes);
        json.member("smoothing", trace->label_smoothing);
        json.member("next", looks_back(inspector.attention(), trace->module));
        json.list("rows", trace->rows,
                  [&](const Prediction& row) { json.value([&] { write(json, row); }); });
        json.list("layers", trace->layers, [&](const LayerPredictions& layer) {
            json.object([&] {
                json.member("layer", layer.layer);
                json.list("rows", layer.rows, [&](const Prediction& row) {
                    json.value([&] { write_short(json, row); });
                });
            });
        });
        if (options.name_of) {
            json.member("names", [&] { write_names(json, *trace, options.name_of); });
        }
        const auto read = tokens_of(trace->module, std::ssize(trace->rows), options.texts);
        if (!read.empty()) json.member("read", read);
    });
}

}  // namespace tapestry
