#include <tapestry/nn/pages/page.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/inspect/memory_trace.h>
#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/trace_json.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tapestry {

std::vector<PageText> texts_of_both(const std::vector<std::string>& read,
                                    const std::vector<std::string>& written) {
    return {{.module = "encoder", .queries = read},
            {.module = "decoder", .queries = written, .keys = read}};
}

std::string to_html(const Inspector& inspector, const PageOptions& options) {
    return html_page(page_assets::kInspect, to_json(inspector, options), {},
                     live_elements(options.model_directory));
}

// ---- the page's data ----------------------------------------------------------------------------

// Numbers are rounded to six digits, enough for readers.

namespace {

void write(JsonWriter& json, const ValueStatistics& s) {
    const bool any = s.count > s.nans + s.infinities;  // otherwise these are unknown, not 0
    const auto known = [any](double x) {
        return any ? six_digits(x) : std::numeric_limits<double>::quiet_NaN();
    };
    json.object([&] {
        json.member("zeros", s.zeros);
        json.member("nans", s.nans);
        json.member("infs", s.infinities);
        json.member("negInfs", s.negative_infinities);
        json.member("count", s.count);
        json.member("min", known(s.min));
        json.member("max", known(s.max));
        json.member("mean", known(s.mean));
        json.member("std", known(s.deviation));
    });
}

void write(JsonWriter& json, const std::optional<ValueStatistics>& s) {
    s ? write(json, *s) : json.value(nullptr);
}

void write(JsonWriter& json, const ProfiledWork& w) {
    json.object("s", six_digits(w.seconds), "flops", six_digits(w.flops), "bytes",
                six_digits(w.bytes), "least", six_digits(w.least));
}

void write(JsonWriter& json, const InspectedInput& x) {
    if (!x.defined) return;  // no mask, no bias
    json.object([&] {
        json.member("slot", x.slot);
        json.member("shape", x.shape);
        json.member("dtype", name_of(x.dtype));
        if (!x.dead_end.empty()) json.member("dead", x.dead_end);
    });
}

void write(JsonWriter& json, const InspectedOutput& y) {
    json.object([&] {
        json.member("slot", y.slot);
        json.member("shape", y.shape);
        json.member("dtype", name_of(y.dtype));
        json.member("values", [&] { write(json, y.values); });
        json.member("grad", [&] { write(json, y.gradient); });
    });
}

void write_units(JsonWriter& json, const InspectedEntry& e) {
    json.object("rows", e.units->rows, "count", e.units->units, "dead", e.units->dead, "unreached",
                e.units->unreached);
}

void write(JsonWriter& json, const InspectedEntry& e) {
    json.object([&] {
        json.member("op", e.name);
        json.member("settings", e.attributes);
        json.member("module", e.module);
        json.list("inputs", e.inputs, [&](const InspectedInput& x) { write(json, x); });
        json.list("outputs", e.outputs, [&](const InspectedOutput& y) { write(json, y); });
        json.member("saved", e.saved_bytes);
        json.member("forward", [&] { write(json, e.forward); });
        json.member("step", e.step);
        if (e.step >= 0) json.member("backward", [&] { write(json, e.backward); });
        if (!e.dead_end.empty()) json.member("dead", e.dead_end);
        if (e.units) json.member("units", [&] { write_units(json, e); });
    });
}

void write(JsonWriter& json, const NonFiniteTensor& t) {
    json.object([&] {
        json.member("what", t.what);
        json.member("shape", t.shape);
        json.member("dtype", name_of(t.dtype));
        json.member("values", [&] { write(json, t.values); });
    });
}

void write(JsonWriter& json, const std::optional<NonFinite>& finding) {
    if (!finding) return json.value(nullptr);
    json.object([&] {
        json.member("headline", headline(*finding));
        json.member("entry", finding->entry);
        json.list("tensors", finding->tensors, [&](const NonFiniteTensor& t) { write(json, t); });
    });
}

void write(JsonWriter& json, const GradientPlace& p) {
    json.object([&] {
        json.member("entry", p.entry);
        json.member("output", p.output);
        json.member("bytes", p.bytes);
        if (p.entry < 0) json.member("leaf", p.leaf);
    });
}

void write_places(JsonWriter& json, const Inspector& inspector) {
    std::set<int> slots;
    for (const InspectedEntry& e : inspector.entries()) {
        for (const InspectedInput& x : e.inputs) slots.insert(x.slot);
        for (const InspectedOutput& y : e.outputs) slots.insert(y.slot);
    }
    json.object([&] {
        for (const int slot : slots) {
            if (slot < 0) continue;
            json.member(std::to_string(slot), [&] { write(json, inspector.place(slot)); });
        }
    });
}

void write(JsonWriter& json, const WalkStep& s) {
    json.object("entry", s.entry, "used", s.used, "arrived", s.arrived, "cotangents",
                s.cotangent_bytes, "freed", s.freed_bytes);
}

void write(JsonWriter& json, const MemoryLife& l, std::optional<std::size_t> at) {
    constexpr const char* kKinds[] = {"parameter", "input", "activation", "gradient"};
    json.object([&] {
        json.member("name", l.name);
        json.member("kind", kKinds[static_cast<std::size_t>(l.kind)]);
        json.member("entry", l.entry);
        json.member("bytes", l.bytes);
        json.member("born", l.born);
        json.member("died", l.died);
        json.member("at", at);
    });
}

void write(JsonWriter& json, const MemoryTrace& memory) {
    const MemoryLayout layout = lay_out(memory);
    json.object([&] {
        auto at = layout.offsets.begin();
        json.list("lives", memory.lives(), [&](const MemoryLife& l) { write(json, l, *at++); });
        json.member("bytes", memory.bytes());
        json.member("peak", memory.peak());
        json.member("plan", [&] {
            json.object("apart", layout.apart, "bytes", layout.bytes, "least", layout.least);
        });
    });
}

void write(JsonWriter& json, const InspectedParameter& p) {
    json.object([&] {
        json.member("name", p.name);
        json.member("shape", p.shape);
        json.member("values", [&] { write(json, p.values); });
        json.member("valueBins", [&] { write(json, p.value_histogram); });
        json.member("grad", [&] { write(json, p.gradient); });
        json.member("gradBins", [&] { write(json, p.gradient_histogram); });
        if (!p.dead_end.empty()) json.member("dead", p.dead_end);
    });
}

// Pixel by pixel, one byte per channel.
void write(JsonWriter& json, const PageImage& image) {
    const Shape& shape = image.pixels.shape();
    require<ShapeError>(shape.rank() == 3 && (shape[0] == 1 || shape[0] == 3),
                        "page: an image is [1 or 3, H, W], not {}", shape);
    const std::vector<float> pixels = image.pixels.to_vector<float>();
    float low = INFINITY, high = -INFINITY;
    for (const float x : pixels) {
        if (!std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    const std::int64_t area = shape[1] * shape[2];
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < area * shape[0]; ++i) {
        const float x = pixels[static_cast<std::size_t>(i % shape[0] * area + i / shape[0])];
        const float share = high > low && std::isfinite(x) ? (x - low) / (high - low) : 0;
        bytes.push_back(static_cast<std::byte>(std::lround(255 * share)));
    }
    json.object("channels", shape[0], "height", shape[1], "width", shape[2], "patch", image.patch,
                "first", image.first, "pixels", base64(bytes));
}

}  // namespace

std::string to_json(const Inspector& inspector, const PageOptions& options) {
    JsonWriter json;
    json.object([&] {
        json.member("title", options.title);
        json.member("subtitle", options.subtitle);
        if (!options.prompt.empty()) json.member("prompt", options.prompt);
        if (options.image) json.member("image", [&] { write(json, *options.image); });
        json.member("diagnosis", [&] { write(json, diagnose(inspector, options.next)); });
        json.member("predictions", [&] { write_predictions(json, inspector, options); });
        json.list("entries", inspector.entries(), [&](const InspectedEntry& e) { write(json, e); });
        json.member("places", [&] { write_places(json, inspector); });
        json.list("walk", inspector.walk(), [&](const WalkStep& s) { write(json, s); });
        json.member("memory", [&] { write(json, inspector.memory()); });
        write_attention(json, inspector, options);
        json.list("parameters", inspector.parameters(),
                  [&](const InspectedParameter& p) { write(json, p); });
        json.member("nonFinite", [&] { write(json, inspector.non_finite()); });
    });
    return json.text();
}

}  // namespace tapestry
