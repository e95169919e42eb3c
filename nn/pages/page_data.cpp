// The page's data. Numbers are rounded to six digits: it is read by people.
#include <tapestry/nn/pages/encoding.h>
#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/page.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace tapestry {
namespace {

using Json = nlohmann::json;

Json number(double x) { return std::isfinite(x) ? Json(six_digits(x)) : Json(); }

Json sizes(const Shape& shape) {
    return Json(std::vector<std::int64_t>(shape.begin(), shape.end()));
}

Json to_json(const ValueStatistics& s) {
    Json json{{"zeros", s.zeros},
              {"nans", s.nans},
              {"infs", s.infinities},
              {"negInfs", s.negative_infinities},
              {"count", s.count}};
    const bool any = s.count > s.nans + s.infinities;  // else these would be 0, and are not known
    json["min"] = any ? number(s.min) : Json();
    json["max"] = any ? number(s.max) : Json();
    json["mean"] = any ? number(s.mean) : Json();
    json["std"] = any ? number(s.deviation) : Json();
    return json;
}

Json to_json(const std::optional<ValueStatistics>& s) { return s ? to_json(*s) : Json(); }

Json to_json(const Log2Histogram& h) { return Json{{"first", h.first}, {"counts", h.counts}}; }

Json to_json(const ProfiledWork& w) {
    return Json{{"s", number(w.seconds)},
                {"flops", number(w.flops)},
                {"bytes", number(w.bytes)},
                {"floor", number(w.floor)}};
}

Json to_json(const InspectedEntry& e) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const InspectedInput& x : e.inputs) {
        if (!x.defined) continue;  // no mask, no bias
        inputs.push_back(
            {{"slot", x.slot}, {"shape", sizes(x.shape)}, {"dtype", name_of(x.dtype)}});
        if (!x.dead_end.empty()) inputs.back()["dead"] = x.dead_end;
    }
    for (const InspectedOutput& y : e.outputs) {
        outputs.push_back({{"slot", y.slot},
                           {"shape", sizes(y.shape)},
                           {"dtype", name_of(y.dtype)},
                           {"values", to_json(y.values)},
                           {"grad", to_json(y.gradient)}});
    }
    Json json{{"op", e.name},
              {"settings", e.attributes},
              {"module", e.module},
              {"inputs", inputs},
              {"outputs", outputs},
              {"saved", e.saved_bytes},
              {"forward", to_json(e.forward)},
              {"step", e.step}};
    if (e.step >= 0) json["backward"] = to_json(e.backward);
    if (!e.dead_end.empty()) json["dead"] = e.dead_end;
    if (e.units) {
        json["units"] = {{"rows", e.units->rows},
                         {"count", e.units->units},
                         {"dead", e.units->dead},
                         {"unreached", e.units->unreached}};
    }
    return json;
}

Json to_json(const std::optional<NonFinite>& finding) {
    if (!finding) return {};
    Json tensors = Json::array();
    for (const NonFiniteTensor& t : finding->tensors) {
        tensors.push_back({{"what", t.what},
                           {"shape", sizes(t.shape)},
                           {"dtype", name_of(t.dtype)},
                           {"values", to_json(t.values)}});
    }
    return {{"headline", headline(*finding)}, {"entry", finding->entry}, {"tensors", tensors}};
}

Json places_of(const Inspector& inspector) {
    Json places = Json::object();
    const auto add = [&](int slot) {
        if (slot < 0) return;
        const GradientPlace& p = inspector.place(slot);
        Json place{{"entry", p.entry}, {"output", p.output}, {"bytes", p.bytes}};
        if (p.entry < 0) place["leaf"] = p.leaf;
        places[std::to_string(slot)] = std::move(place);
    };
    for (const InspectedEntry& e : inspector.entries()) {
        for (const InspectedInput& x : e.inputs) add(x.slot);
        for (const InspectedOutput& y : e.outputs) add(y.slot);
    }
    return places;
}

Json walk_of(const Inspector& inspector) {
    Json walk = Json::array();
    for (const WalkStep& s : inspector.walk()) {
        walk.push_back({{"entry", s.entry},
                        {"used", s.used},
                        {"arrived", s.arrived},
                        {"cotangents", s.cotangent_bytes},
                        {"freed", s.freed_bytes}});
    }
    return walk;
}

Json memory_of(const MemoryTrace& memory) {
    constexpr const char* kKinds[] = {"parameter", "input", "activation", "gradient"};
    Json lives = Json::array();
    for (const MemoryLife& l : memory.lives()) {
        lives.push_back({{"name", l.name},
                         {"kind", kKinds[static_cast<std::size_t>(l.kind)]},
                         {"entry", l.entry},
                         {"bytes", l.bytes},
                         {"born", l.born},
                         {"died", l.died}});
    }
    return {{"lives", lives}, {"bytes", memory.bytes()}, {"peak", memory.peak()}};
}

Json numbers(const std::vector<double>& values) {
    Json json = Json::array();
    for (const double x : values) json.push_back(number(x));
    return json;
}

Json to_json(const AttentionTrace& a, const PageOptions& options) {
    Json json{{"entry", a.entry},
              {"module", a.module},
              {"causal", a.causal},
              {"cross", a.cross},
              {"scale", a.scale},
              {"heads", a.heads},
              {"queries", a.queries},
              {"keys", a.keys},
              {"dim", a.dim},
              {"q", half_base64(a.q)},
              {"k", half_base64(a.k)},
              {"entropy", numbers(a.entropy)},
              {"distance", numbers(a.distance)}};
    if (!a.mask.empty()) {
        json["mask"] = half_base64(a.mask);
        json["maskHeads"] = a.mask_heads;
    }
    const PageText text = text_of(a, options.texts);
    if (!text.queries.empty()) json["queryTexts"] = text.queries;
    if (!text.keys.empty()) json["keyTexts"] = text.keys;
    return json;
}

Json to_json(const InspectedParameter& p) {
    Json json{{"name", p.name},
              {"shape", sizes(p.shape)},
              {"values", to_json(p.values)},
              {"valueBins", to_json(p.value_histogram)},
              {"grad", to_json(p.gradient)},
              {"gradBins", to_json(p.gradient_histogram)}};
    if (!p.dead_end.empty()) json["dead"] = p.dead_end;
    return json;
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

std::string to_json(const Inspector& inspector, const PageOptions& options) {
    Json entries = Json::array(), attention = Json::array(), parameters = Json::array();
    for (const InspectedEntry& e : inspector.entries()) entries.push_back(to_json(e));
    for (const AttentionTrace& a : inspector.attention()) attention.push_back(to_json(a, options));
    for (const InspectedParameter& p : inspector.parameters()) parameters.push_back(to_json(p));
    const Json all{{"title", options.title},
                   {"subtitle", options.subtitle},
                   {"entries", entries},
                   {"places", places_of(inspector)},
                   {"walk", walk_of(inspector)},
                   {"memory", memory_of(inspector.memory())},
                   {"attention", attention},
                   {"parameters", parameters},
                   {"nonFinite", to_json(inspector.non_finite())}};
    // A token may be a part of a character: what is no UTF-8 becomes U+FFFD.
    return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tapestry
