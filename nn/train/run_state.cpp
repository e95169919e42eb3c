#include <tapestry/nn/train/run_state.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>

namespace tapestry {

std::string to_json(const RunState& state) {
    JsonWriter json;
    json.object([&] {
        json.list("segments", state.segments, [&](const RunSegment& segment) {
            json.object([&] {
                json.member("first_step", segment.first_step);
                json.member("overrides", segment.overrides);
                json.member("config", segment.config);
            });
        });
        json.member("seconds", state.seconds);
        json.member("metrics", [&] {
            json.object([&] {
                json.member("bytes", state.metrics.bytes);
                json.member("xxh3_128", state.metrics.checksum);
            });
        });
        json.member("rewind_every", state.rewind_every);
        if (!state.best) return;
        json.member("best", [&] {
            json.object([&] {
                json.member("step", state.best->step);
                json.member("val_loss", state.best->val_loss);
            });
        });
    });
    return json.text();
}

RunState run_state_from_json(std::string_view text, std::string_view what) {
    try {
        const JsonTree tree(text);
        const JsonNode json = tree.root(), metrics = json.at("metrics");
        RunState state{
            .seconds = json.get<double>("seconds"),
            .metrics = {metrics.get<std::uint64_t>("bytes"), metrics.get<std::string>("xxh3_128")},
            .rewind_every = json.count("rewind_every")};
        for (const JsonNode& segment : json.at("segments").elements()) {
            state.segments.push_back({segment.count("first_step"),
                                      segment.get<std::string>("config"),
                                      segment.get<std::vector<std::string>>("overrides")});
        }
        if (const auto best = json.find("best")) {
            state.best = {best->count("step"), best->get<double>("val_loss")};
        }
        return state;
    } catch (const JsonError& error) {
        fail<IoError>("{}: the checkpoint is of no run, but of a session alone: {}", what,
                      error.what());
    }
}

}  // namespace tapestry
