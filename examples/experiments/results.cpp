// Results to JSON and back. Read results.h first.
#include <tapestry/examples/experiments/results.h>

#include <tapestry/core/error.h>
#include <tapestry/examples/experiments/registry.h>
#include <tapestry/examples/experiments/render.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace tapestry::experiments {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity: null is the one, the words are the other.
Json number(double value) {
    if (std::isnan(value)) return nullptr;
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double number_of(const Json& json) {
    if (json.is_null()) return std::nan("");
    if (json.is_string()) return json == "inf" ? HUGE_VAL : -HUGE_VAL;
    return json.get<double>();
}

Json to_json(const Interval& i) {
    return {{"mean", number(i.mean)},
            {"low", number(i.low)},
            {"high", number(i.high)},
            {"count", i.count}};
}

Interval interval_of(const Json& json) {
    return {number_of(json.at("mean")), number_of(json.at("low")), number_of(json.at("high")),
            json.at("count").get<std::int64_t>()};
}

Json to_json(const Cell& cell) {
    Json json{{"text", cell.text}};
    if (!std::isnan(cell.value)) json["value"] = number(cell.value);
    if (cell.interval) json["interval"] = to_json(*cell.interval);
    if (cell.timed) json["timed"] = true;
    return json;
}

Cell cell_of(const Json& json) {
    Cell cell(json.at("text").get<std::string>());
    if (json.contains("value")) cell.value = number_of(json.at("value"));
    if (json.contains("interval")) cell.interval = interval_of(json.at("interval"));
    cell.timed = json.value("timed", false);
    return cell;
}

Json to_json(const Table& table) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
        Json cells = Json::array();
        for (const Cell& cell : row) cells.push_back(to_json(cell));
        rows.push_back(cells);
    }
    return {{"title", table.title}, {"columns", table.columns}, {"rows", rows}};
}

Table table_of(const Json& json) {
    Table table{json.at("title").get<std::string>(),
                json.at("columns").get<std::vector<std::string>>(),
                {}};
    for (const Json& row : json.at("rows")) {
        table.rows.emplace_back();
        for (const Json& cell : row) table.rows.back().push_back(cell_of(cell));
    }
    return table;
}

Json claims_to_json(const Found& found) {
    const Experiment& experiment = find_experiment(found.name);
    Json claims = Json::array();
    for (const Claim& claim : experiment.claims) {
        const Interval& decided = found.report.decided.at(claim.name);
        claims.push_back({{"name", claim.name},
                          {"sentence", claim.sentence},
                          {"number", claim.number},
                          {"rule", text_of(claim.rule)},
                          {"measured", to_json(decided)},
                          {"verdict", text_of(judge(claim.rule, decided))}});
    }
    return claims;
}

Json to_json(const Outcomes& outcomes) {
    Json trials = Json::array();
    for (const Outcomes::Entry& entry : outcomes.entries()) {
        Json seeds = Json::array();
        for (const Measured& seed : entry.seeds) {
            Json numbers = Json::object();
            for (const auto& [name, value] : seed.numbers) numbers[name] = number(value);
            seeds.push_back(numbers);
        }
        trials.push_back({{"name", entry.name},
                          {"timed", entry.timed},
                          {"seconds", entry.seconds},
                          {"seeds", seeds}});
    }
    return trials;
}

Outcomes outcomes_of(const Json& json) {
    std::vector<Outcomes::Entry> entries;
    for (const Json& trial : json) {
        Outcomes::Entry entry{trial.at("name").get<std::string>(), trial.at("timed").get<bool>(),
                              trial.at("seconds").get<double>()};
        for (const Json& seed : trial.at("seeds")) {
            Measured& measured = entry.seeds.emplace_back();
            for (const auto& [name, value] : seed.items()) {
                measured.numbers[name] = number_of(value);
            }
        }
        entries.push_back(entry);
    }
    return Outcomes(std::move(entries));
}

Json to_json(const Found& found) {
    Json tables = Json::array(), figures = Json::array();
    for (const Table& table : found.report.tables) tables.push_back(to_json(table));
    for (const Figure& figure : found.report.figures) {
        figures.push_back({{"name", figure.name}, {"caption", figure.caption}});
    }
    return {{"name", found.name},
            {"seconds", found.seconds},
            {"claims", claims_to_json(found)},
            {"remark", found.report.remark},
            {"tables", tables},
            {"figures", figures},
            {"trials", to_json(found.outcomes)}};
}

Found found_of(const Json& json) {
    Found found{.name = json.at("name").get<std::string>(),
                .report = {},
                .outcomes = outcomes_of(json.at("trials")),
                .seconds = json.at("seconds").get<double>()};
    for (const Json& table : json.at("tables")) found.report.tables.push_back(table_of(table));
    for (const Json& figure : json.at("figures")) {
        found.report.figures.push_back(
            {figure.at("name").get<std::string>(), figure.at("caption").get<std::string>(), ""});
    }
    for (const Json& claim : json.at("claims")) {
        found.report.decided[claim.at("name").get<std::string>()] =
            interval_of(claim.at("measured"));
    }
    found.report.remark = json.at("remark").get<std::string>();
    return found;
}

}  // namespace

std::string to_json(const Results& results) {
    Json found = Json::array();
    for (const Found& f : results.found) found.push_back(to_json(f));
    const Json json{{"command", results.command}, {"version", results.version},
                    {"isa", results.isa},         {"seed", results.seed},
                    {"seeds", results.seeds},     {"quick", results.quick},
                    {"experiments", found}};
    return json.dump(1) + "\n";
}

Results results_from_json(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        Results results{.command = json.at("command").get<std::string>(),
                        .version = json.at("version").get<std::string>(),
                        .isa = json.at("isa").get<std::string>(),
                        .seed = json.at("seed").get<std::uint64_t>(),
                        .seeds = json.at("seeds").get<std::int64_t>(),
                        .quick = json.at("quick").get<bool>(),
                        .found = {}};
        for (const Json& found : json.at("experiments")) results.found.push_back(found_of(found));
        return results;
    } catch (const nlohmann::json::exception& error) {
        throw ValueError(fmt::format("not the results of experiments: {}", error.what()));
    }
}

Table table_of_claims(const std::vector<Found>& found) {
    Table table{"", {"experiment", "claim", "verdict", "rule", "measured", "95 %", "values"}, {}};
    for (const Found& f : found) {
        for (const Claim& claim : find_experiment(f.name).claims) {
            const Interval& decided = f.report.decided.at(claim.name);
            table.rows.push_back({f.name, claim.sentence, text_of(judge(claim.rule, decided)),
                                  text_of(claim.rule), mean_of(decided), width_of(decided),
                                  decided.count == 0 ? Cell("-") : Cell(decided.count)});
        }
    }
    return table;
}

}  // namespace tapestry::experiments
