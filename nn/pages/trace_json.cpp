#include <tapestry/nn/pages/trace_json.h>

#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/html.h>

#include <algorithm>
#include <set>

namespace tapestry {
namespace {

// Small models' queries and keys are written exactly, so computing with the page's numbers gives
// the model's; those of large models would make a page of tens of megabytes.
bool is_exact(const Inspector& inspector) {
    constexpr std::int64_t kMostParameters = 2'000'000;
    std::int64_t count = 0;
    for (const InspectedParameter& p : inspector.parameters()) count += numel(p.shape);
    return count <= kMostParameters;
}

void write_rows(JsonWriter& json, const std::string& name, const std::vector<float>& numbers,
                std::int64_t width, bool exact) {
    if (exact) return json.member(name, float_base64(numbers));
    const PackedRows rows = pack_rows(numbers, static_cast<std::size_t>(width));
    json.member(name, rows.numbers);
    json.member(name + "Units", rows.units);
}

// Large models' values and projections are written if there are not too many; a page without them
// says so.
bool has_values(const Inspector& inspector, bool exact) {
    constexpr std::size_t kMostNumbers = std::size_t{1} << 21;
    std::size_t count = 0;
    for (const AttentionTrace& a : inspector.attention()) count += a.v.size() + a.output.size();
    return exact || count <= kMostNumbers;
}

void write_values(JsonWriter& json, const AttentionTrace& a, bool exact) {
    json.member("valueDim", a.value_dim);
    write_rows(json, "v", a.v, a.value_dim, exact);
    if (a.output.empty()) return;
    write_rows(json, "output", a.output, a.heads * a.value_dim, exact);
    if (!a.output_bias.empty()) json.member("outputBias", float_base64(a.output_bias));
}

// Whether queries and keys leave no space for more.
bool is_full(const Inspector& inspector) {
    constexpr std::size_t kMostNumbers = 10'000'000;  // 18.5 MB
    std::size_t count = 0;
    for (const AttentionTrace& a : inspector.attention()) count += a.q.size() + a.k.size();
    return count > kMostNumbers;
}

// The selected positions that fit, for a large model; all of them for a small one.
std::vector<std::size_t> written_places(const TokenPath& path, bool exact) {
    constexpr std::int64_t kMostNumbers = std::int64_t{1} << 17;
    std::int64_t width = 1;
    for (const FollowedEntry& e : path.entries) width += e.width;
    const std::int64_t kept = std::ssize(path.places);
    const std::int64_t count = exact ? kept : std::max<std::int64_t>(1, kMostNumbers / width);
    std::vector<std::size_t> written;
    for (const std::int64_t i : even_places(kept, count)) {
        written.push_back(static_cast<std::size_t>(i));
    }
    return written;
}

// The lengths of the residual stream and of its gradients, which the picture draws for every token.
void write_stream(JsonWriter& json, const FollowedEntry& e, const std::string& op) {
    if (op != "add" && op != "embedding") return;
    if (!e.lengths.empty()) json.member("lengths", float_base64(e.lengths));
    if (!e.gradients.empty()) json.member("gradients", float_base64(e.gradients));
}

void write_path(JsonWriter& json, const Inspector& inspector, bool exact) {
    const TokenPath& path = inspector.token_path();
    if (path.entries.empty()) return json.value(nullptr);
    const std::vector<std::size_t> rows = written_places(path, exact);
    json.object([&] {
        json.member("tokens", path.tokens);
        json.list("places", rows, [&](std::size_t i) { json.value(path.places[i]); });
        json.list("entries", path.entries, [&](const FollowedEntry& e) {
            std::vector<float> numbers = e.whole ? e.numbers : std::vector<float>();
            for (std::size_t i = 0; i < rows.size() && !e.whole && !e.numbers.empty(); ++i) {
                const auto from =
                    e.numbers.begin() + static_cast<std::ptrdiff_t>(rows[i]) * e.width;
                numbers.insert(numbers.end(), from, from + e.width);
            }
            json.object([&] {
                json.member("entry", e.entry);
                json.member("width", e.width);
                if (e.whole) json.member("whole", true);
                if (!numbers.empty()) write_rows(json, "numbers", numbers, e.width, exact);
                write_stream(json, e, inspector.entries()[static_cast<std::size_t>(e.entry)].name);
            });
        });
    });
}

void write(JsonWriter& json, const AttentionTrace& a, const PageOptions& options, bool exact,
           bool values) {
    const auto number = [&](double x) { json.value(six_digits(x)); };
    json.object([&] {
        json.member("entry", a.entry);
        json.member("module", a.module);
        json.member("causal", a.causal);
        json.member("cross", a.cross);
        json.member("scale", a.scale);
        json.member("dtype", name_of(a.dtype));
        json.member("heads", a.heads);
        json.member("queries", a.queries);
        json.member("keys", a.keys);
        json.member("dim", a.dim);
        write_rows(json, "q", a.q, a.dim, exact);
        write_rows(json, "k", a.k, a.dim, exact);
        if (values) write_values(json, a, exact);
        json.list("entropy", a.entropy, number);
        json.list("distance", a.distance, number);
        if (!a.mask.empty()) {
            json.member("mask", exact ? float_base64(a.mask) : half_base64(a.mask));
            json.member("maskHeads", a.mask_heads);
        }
        const PageText text = text_of(a, options.texts);
        if (!text.queries.empty()) json.member("queryTexts", text.queries);
        if (!text.keys.empty()) json.member("keyTexts", text.keys);
    });
}

}  // namespace

PageText text_of(const AttentionTrace& attention, const std::vector<PageText>& texts) {
    for (const PageText& text : texts) {
        if (!attention.module.starts_with(text.module)) continue;
        PageText found = text;
        if (!attention.cross) found.keys = found.queries;
        if (std::ssize(found.queries) != attention.queries) found.queries.clear();
        if (std::ssize(found.keys) != attention.keys) found.keys.clear();
        return found;
    }
    return {};
}

std::vector<std::string> tokens_of(const std::string& module, std::int64_t count,
                                   const std::vector<PageText>& texts) {
    AttentionTrace itself;  // self-attention: as many keys as queries
    itself.module = module;
    itself.queries = itself.keys = count;
    return text_of(itself, texts).queries;
}

void write_attention(JsonWriter& json, const Inspector& inspector, const PageOptions& options) {
    const bool exact = is_exact(inspector), values = has_values(inspector, exact);
    json.member("exact", exact);
    json.list("attention", inspector.attention(),
              [&](const AttentionTrace& a) { write(json, a, options, exact, values); });
    json.member("path", [&] {
        const bool none = !exact && is_full(inspector);
        none ? json.value(nullptr) : write_path(json, inspector, exact);
    });
}

namespace {

// [right, loss, rank, [[id, probability], ...]]; right is null if the loss ignores the row.
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

// [loss, rank, id, probability] of a layer's likeliest class.
void write_short(JsonWriter& json, const Prediction& row) {
    json.array([&] {
        json.value(six_digits(row.loss));
        json.value(row.rank);
        json.value(row.likeliest.front().id);
        json.value(six_digits(row.likeliest.front().probability));
    });
}

// The names of all classes in the rows.
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

// A layer with causal attention belongs to a model that predicts the next token.
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
