// Results to JSON and back. Implements results.h.
#include <tapestry/examples/school/experiments/results.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

// JSON has neither NaN nor infinity: writes NaN as null and infinities as strings.
void write_number(JsonWriter& json, std::string_view name, double value) {
    if (std::isinf(value)) {
        json.member(name, value > 0 ? "inf" : "-inf");
    } else {
        json.member(name, value);
    }
}

double number_of(const JsonNode& node) {
    if (node.is(JsonKind::null)) return std::nan("");
    if (node.is(JsonKind::string)) {
        const auto text = node.get<std::string>();
        require<JsonError>(text == "inf" || text == "-inf",
                           "a number is \"inf\", \"-inf\" or without quotes, got {}", node.text());
        return text == "inf" ? HUGE_VAL : -HUGE_VAL;
    }
    return node.get<double>();
}

void write(JsonWriter& json, std::string_view name, const Interval& i) {
    json.member(name, [&] {
        json.object([&] {
            write_number(json, "mean", i.mean);
            write_number(json, "low", i.low);
            write_number(json, "high", i.high);
            json.member("count", i.count);
            if (i.is_share) json.member("share", true);
        });
    });
}

Interval interval_of(const JsonNode& node) {
    return {{number_of(node.at("mean")), number_of(node.at("low")), number_of(node.at("high")),
             node.count("count"), node.find("share").has_value()}};
}

void write(JsonWriter& json, const Cell& cell) {
    json.object([&] {
        json.member("text", cell.text);
        if (!std::isnan(cell.value)) write_number(json, "value", cell.value);
        if (cell.interval) write(json, "interval", *cell.interval);
        if (cell.timed) json.member("timed", true);
    });
}

Cell cell_of(const JsonNode& node) {
    Cell cell(node.get<std::string>("text"));
    if (const auto value = node.find("value")) cell.value = number_of(*value);
    if (const auto interval = node.find("interval")) cell.interval = interval_of(*interval);
    if (const auto timed = node.find("timed")) cell.timed = timed->get<bool>();
    return cell;
}

void write(JsonWriter& json, const Table& table) {
    json.object([&] {
        json.member("title", table.title);
        json.member("columns", table.columns);
        json.list("rows", table.rows, [&](const std::vector<Cell>& row) {
            json.array([&] {
                for (const Cell& cell : row) write(json, cell);
            });
        });
    });
}

Table table_of(const JsonNode& node) {
    Table table{node.get<std::string>("title"), node.get<std::vector<std::string>>("columns"), {}};
    for (const JsonNode& row : node.at("rows").elements()) {
        table.rows.emplace_back();
        for (const JsonNode& cell : row.elements()) table.rows.back().push_back(cell_of(cell));
    }
    return table;
}

void write_claims(JsonWriter& json, const Found& found) {
    const Experiment& experiment = find_experiment(found.name);
    const std::vector<Judged> claims = judged(experiment, found.report);
    const std::vector<Verdict> corrected = judge_together(claims);
    std::size_t next = 0;
    json.list("claims", experiment.claims, [&](const Claim& claim) {
        json.object([&] {
            json.member("name", claim.name);
            json.member("sentence", claim.sentence);
            json.member("number", claim.number);
            json.member("rule", text_of(claim.rule));
            json.member("design", text_of(design_of(claim, found.report)));
            write(json, "measured", claims[next].measured);
            json.member("verdict", text_of(claims[next].verdict()));
            json.member("corrected", text_of(corrected[next]));
            if (claims[next].undecided) {
                json.member("undecided", found.report.undecided.at(claim.name));
            }
        });
        ++next;
    });
}

void write(JsonWriter& json, const std::map<std::string, Curve>& curves) {
    json.object([&] {
        for (const auto& [name, curve] : curves) {
            json.member(name, [&, &of = curve] {
                json.object("mean", of.mean, "half_width", of.half_width);
            });
        }
    });
}

void write(JsonWriter& json, const Outcomes::Entry& trial) {
    json.object([&] {
        json.member("name", trial.name);
        json.member("timed", trial.timed);
        json.member("seconds", trial.seconds);
        if (!trial.tried.empty()) {
            json.list("tried", trial.tried, [&](const Tried& tried) {
                json.object([&] {
                    json.member("rate", tried.rate);
                    write_number(json, "loss", tried.loss);
                });
            });
        }
        json.list("seeds", trial.seeds, [&](const Measured& seed) {
            json.object([&] {
                for (const auto& [name, value] : seed.numbers) write_number(json, name, value);
            });
        });
        if (!trial.curves.empty()) json.member("curves", [&] { write(json, trial.curves); });
    });
}

std::vector<double> numbers_of(const JsonNode& node) {
    std::vector<double> numbers;
    for (const JsonNode& each : node.elements()) numbers.push_back(number_of(each));
    return numbers;
}

Outcomes outcomes_of(const JsonNode& node) {
    std::vector<Outcomes::Entry> entries;
    for (const JsonNode& trial : node.elements()) {
        Outcomes::Entry entry{trial.get<std::string>("name"), trial.get<bool>("timed"),
                              trial.get<double>("seconds")};
        if (const auto tried = trial.find("tried")) {
            for (const JsonNode& one : tried->elements()) {
                entry.tried.push_back({one.get<double>("rate"), number_of(one.at("loss"))});
            }
        }
        if (const auto curves = trial.find("curves")) {
            for (const auto& [name, curve] : curves->members()) {
                entry.curves[name] = {numbers_of(curve.at("mean")),
                                      numbers_of(curve.at("half_width"))};
            }
        }
        for (const JsonNode& seed : trial.at("seeds").elements()) {
            Measured& measured = entry.seeds.emplace_back();
            for (const auto& [name, value] : seed.members()) {
                measured.numbers[name] = number_of(value);
            }
        }
        entries.push_back(entry);
    }
    return Outcomes(std::move(entries));
}

void write(JsonWriter& json, const Found& found) {
    json.object([&] {
        json.member("name", found.name);
        json.member("seconds", found.seconds);
        write_claims(json, found);
        json.member("remark", found.report.remark);
        if (!found.report.value_of_model.empty()) {
            json.member("value_of_model", found.report.value_of_model);
        }
        json.list("tables", found.report.tables, [&](const Table& table) { write(json, table); });
        json.list("figures", found.report.figures, [&](const Figure& figure) {
            json.object("name", figure.name, "caption", figure.caption);
        });
        json.list("trials", found.outcomes.entries(),
                  [&](const Outcomes::Entry& trial) { write(json, trial); });
    });
}

Found found_of(const JsonNode& node) {
    Found found{.name = node.get<std::string>("name"),
                .report = {},
                .outcomes = outcomes_of(node.at("trials")),
                .seconds = node.get<double>("seconds")};
    for (const JsonNode& table : node.at("tables").elements()) {
        found.report.tables.push_back(table_of(table));
    }
    for (const JsonNode& figure : node.at("figures").elements()) {
        found.report.figures.push_back(
            {figure.get<std::string>("name"), figure.get<std::string>("caption"), ""});
    }
    for (const JsonNode& claim : node.at("claims").elements()) {
        const auto name = claim.get<std::string>("name");
        found.report.decided[name] = interval_of(claim.at("measured"));
        if (const auto reason = claim.find("undecided")) {
            found.report.undecided[name] = reason->get<std::string>();
        }
    }
    found.report.remark = node.get<std::string>("remark");
    if (const auto value = node.find("value_of_model")) {
        found.report.value_of_model = value->get<std::string>();
    }
    return found;
}

}  // namespace

std::string to_json(const Results& results) {
    JsonWriter json(1, 3);  // one line for each member of an experiment
    json.object([&] {
        json.member("command", results.command);
        json.member("version", results.version);
        json.member("isa", results.isa);
        if (!results.program.empty()) json.member("program", results.program);
        json.member("seed", results.seed);
        json.member("seeds", results.seeds);
        json.member("quick", results.quick);
        json.list("experiments", results.found, [&](const Found& found) { write(json, found); });
    });
    return json.text() + "\n";
}

Results results_from_json(std::string_view text) {
    try {
        const JsonTree tree(text);
        const JsonNode root = tree.root();
        Results results{.command = root.get<std::string>("command"),
                        .version = root.get<std::string>("version"),
                        .isa = root.get<std::string>("isa"),
                        .program = root.find("program") ? root.get<std::string>("program") : "",
                        .seed = root.get<std::uint64_t>("seed"),
                        .seeds = root.get<std::int64_t>("seeds"),
                        .quick = root.get<bool>("quick"),
                        .found = {}};
        for (const JsonNode& found : root.at("experiments").elements()) {
            results.found.push_back(found_of(found));
        }
        require<JsonError>(results.seeds >= 1, "{} seeds", results.seeds);
        return results;
    } catch (const JsonError& error) {
        fail<ValueError>("not the results of experiments: {}", error.what());
    }
}

std::vector<Judged> judged(const std::vector<Found>& found) {
    std::vector<Judged> all;
    for (const Found& f : found) {
        const std::vector<Judged> claims = judged(find_experiment(f.name), f.report);
        all.insert(all.end(), claims.begin(), claims.end());
    }
    return all;
}

std::map<std::pair<std::string, std::string>, Verdict> corrected_verdicts(
    const std::vector<Found>& found) {
    const std::vector<Verdict> verdicts = judge_together(judged(found));
    std::map<std::pair<std::string, std::string>, Verdict> result;
    std::size_t next = 0;
    for (const Found& f : found) {
        for (const Claim& claim : find_experiment(f.name).claims) {
            result[{f.name, claim.name}] = verdicts[next++];
        }
    }
    return result;
}

Table table_of_claims(const std::vector<Found>& found) {
    Table table{"",
                {"experiment", "claim", "verdict", "in its experiment", "on the page", "rule",
                 "measured", "95 %", "values", "again", "values needed"},
                {}};
    const std::vector<Judged> all = judged(found);
    const std::vector<Verdict> on_page = judge_together(all);
    const auto counted = std::ranges::count_if(all, &Judged::is_counted);
    for (const Found& f : found) {
        const Experiment& experiment = find_experiment(f.name);
        const std::vector<Verdict> in_experiment = corrected_verdicts(experiment, f.report);
        for (std::size_t i = 0; i < experiment.claims.size(); ++i) {
            const std::size_t row = table.rows.size();
            const Interval& decided = all[row].measured;
            table.rows.push_back({f.name, experiment.claims[i].sentence,
                                  text_of(all[row].verdict()), text_of(in_experiment[i]),
                                  text_of(on_page[row]), text_of(all[row].rule), mean_of(decided),
                                  width_of(decided),
                                  decided.count == 0 ? Cell("-") : Cell(decided.count),
                                  again_of(all[row]), needed_by(all[row], on_page[row], counted)});
        }
    }
    return table;
}

}  // namespace tapestry::experiments
