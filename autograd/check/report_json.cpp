#include <tapestry/autograd/check/report.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace tapestry {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {  // JSON has no NaN
    return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

Json json_of(const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    return {{"where", slope.where},
            {"claimed", number(slope.claimed)},
            {"numeric", number(j.numeric)},
            {"error", number(j.error)},
            {"allowed", number(j.tolerance)},
            {"f_above", number(j.above)},
            {"f_below", number(j.below)},
            {"h", number(j.step)},
            {"noise", number(j.noise)},
            {"resolution", number(j.resolution)},
            {"verdict", to_string(j.verdict)},
            {"subgradient", j.subgradient}};
}

Json json_of(const Cause& cause) {
    return {{"name", to_string(cause.mistake)}, {"evidence", cause.evidence}, {"hint", cause.hint}};
}

Json json_of(const InputReport& input) {
    Json shape = Json::array();
    for (int axis = 0; axis < input.shape.rank(); ++axis) shape.push_back(input.shape[axis]);
    Json json{{"name", input.name},
              {"shape", shape},
              {"verdict", to_string(input.verdict)},
              {"reason", to_string(input.reason)},
              {"method", input.method},
              {"note", input.note},
              {"compared", input.compared},
              {"inconclusive", input.inconclusive},
              {"wrong", input.wrong},
              {"first_wrong", input.first_wrong},
              {"one_factor", input.one_factor},
              {"unseen", Json::array()},
              {"steps", {number(input.least_step), number(input.most_step)}},
              {"noise", number(input.noise)},
              {"resolution", number(input.resolution)},
              {"worst", json_of(input.worst)},
              {"oracles", Json::array()}};
    for (const Unseen& unseen : input.unseen) {
        json["unseen"].push_back({{"where", unseen.where}, {"reason", to_string(unseen.reason)}});
    }
    for (const Opinion& opinion : input.opinions) {
        json["oracles"].push_back({{"name", opinion.oracle},
                                   {"slope", number(opinion.slope)},
                                   {"claimed", number(opinion.claimed)},
                                   {"allowed", number(opinion.tolerance)},
                                   {"agrees", opinion.agrees}});
    }
    return json;
}

Json json_of(const PointReport& point) {
    Json json{{"what", point.what},
              {"verdict", to_string(point.verdict)},
              {"reason", to_string(point.reason)},
              {"starts_with", Json::array()}};
    for (const auto& numbers : point.starts_with) {
        Json& input = json["starts_with"].emplace_back(Json::array());
        for (const double x : numbers) input.push_back(number(x));
    }
    return json;
}

Json json_of(const WrongOp& wrong) {
    return {{"op", wrong.op},
            {"module", wrong.module_path},
            {"entry", wrong.number},
            {"operand", wrong.operand},
            {"shapes", wrong.shapes},
            {"form", wrong.form},
            {"wrong", wrong.wrong},
            {"slope", json_of(wrong.slope)},
            {"cause", json_of(wrong.cause)},
            {"others", wrong.others}};
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
    Json json{{"subject", report.subject},
              {"verdict", to_string(report.verdict)},
              {"reason", to_string(report.reason)},
              {"evaluations", report.runs},
              {"certainty", report.certainty},
              {"resolution", number(report.resolution)},
              {"complaints", report.complaints},
              {"not_defined", report.not_defined},
              {"limit", report.limit},
              {"seed", report.seed},
              {"reproduce", report.reproduce},
              {"points", Json::array()},
              {"inputs", Json::array()}};
    for (const InputReport& input : report.inputs) json["inputs"].push_back(json_of(input));
    for (const PointReport& point : report.points) json["points"].push_back(json_of(point));
    if (report.first_wrong) json["first_wrong"] = json_of(*report.first_wrong);
    if (report.cause) json["cause"] = json_of(*report.cause);
    return json.dump(2, ' ', false, Json::error_handler_t::replace);  // a subject may be a path
}

}  // namespace tapestry
