#include <tapestry/nn/train/run_state.h>

#include <tapestry/core/error.h>

#include <nlohmann/json.hpp>

namespace tapestry {

using Json = nlohmann::ordered_json;

std::string to_json(const RunState& state) {
    Json segments = Json::array();
    for (const RunSegment& segment : state.segments) {
        segments.push_back({{"first_step", segment.first_step},
                            {"overrides", segment.overrides},
                            {"config", segment.config}});
    }
    Json json{{"segments", segments},
              {"seconds", state.seconds},
              {"metrics", {{"bytes", state.metrics.bytes}, {"xxh3_128", state.metrics.checksum}}},
              {"rewind_every", state.rewind_every}};
    if (state.best) json["best"] = {{"step", state.best->step}, {"val_loss", state.best->val_loss}};
    return json.dump();
}

RunState run_state_from_json(std::string_view text, std::string_view what) {
    try {
        const Json json = Json::parse(text);
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
