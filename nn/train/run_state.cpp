#include <tapestry/nn/train/run_state.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/json_tree.h>
#include <tapestry/nn/json_writer.h>

namespace tapestry {

using Json = nlohmann::json;

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
        JsonTree tree;
        tree.parse(text);
        const Json& json = tree.root();
        const Json& metrics = json.at("metrics");
        RunState state{.seconds = json.at("seconds").get<double>(),
                       .metrics = {metrics.at("bytes").get<std::uint64_t>(),
                                   metrics.at("xxh3_128").get<std::string>()},
                       .rewind_every = json.at("rewind_every").get<std::int64_t>()};
        for (const Json& segment : json.at("segments")) {
            state.segments.push_back({segment.at("first_step").get<std::int64_t>(),
                                      segment.at("config").get<std::string>(),
                                      segment.at("overrides").get<std::vector<std::string>>()});
        }
        if (json.contains("best")) {
            state.best = {json.at("best").at("step").get<std::int64_t>(),
                          json.at("best").at("val_loss").get<double>()};
        }
        return state;
    } catch (const Json::exception& error) {
        fail<IoError>("{}: the checkpoint is of no run, but of a session alone: {}", what,
                      error.what());
    }
}

}  // namespace tapestry
