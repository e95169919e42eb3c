#include <tapestry/autograd/check/report.h>

#include <tapestry/core/text/json_writer.h>

#include <cmath>

namespace tapestry {
namespace {

void write_number(JsonWriter& json, double value) {
    if (std::isfinite(value)) {
        json.value(value);
    } else {
        json.value(fmt::format("{}", value));  // JSON has no NaN
    }
}

void write_number(JsonWriter& json, std::string_view name, double value) {
    json.member(name, [&] { write_number(json, value); });
}

void write(JsonWriter& json, const SlopeReport& slope) {
    const Judgement& j = slope.judgement;
    json.object([&] {
        json.member("where", slope.where);
        write_number(json, "claimed", slope.claimed);
        write_number(json, "numeric", j.numeric);
        write_number(json, "error", j.error);
        write_number(json, "allowed", j.tolerance);
        write_number(json, "f_above", j.above);
        write_number(json, "f_below", j.below);
        write_number(json, "h", j.step);
        write_number(json, "noise", j.noise);
        write_number(json, "resolution", j.resolution);
        json.member("verdict", to_string(j.verdict));
        json.member("subgradient", j.subgradient);
    });
}

void write(JsonWriter& json, const Cause& cause) {
    json.object([&] {
        json.member("name", to_string(cause.mistake));
        json.member("evidence", cause.evidence);
        json.member("hint", cause.hint);
    });
}

void write(JsonWriter& json, const Unseen& unseen) {
    json.object([&] {
        json.member("where", unseen.where);
        json.member("reason", to_string(unseen.reason));
    });
}

void write(JsonWriter& json, const Opinion& opinion) {
    json.object([&] {
        json.member("name", opinion.oracle);
        write_number(json, "slope", opinion.slope);
        write_number(json, "claimed", opinion.claimed);
        write_number(json, "allowed", opinion.tolerance);
        json.member("agrees", opinion.agrees);
    });
}

void write(JsonWriter& json, const InputReport& input) {
    json.object([&] {
        json.member("name", input.name);
        json.member("shape", input.shape);
        json.member("verdict", to_string(input.verdict));
        json.member("reason", to_string(input.reason));
        json.member("method", input.method);
        json.member("note", input.note);
        json.member("compared", input.compared);
        json.member("inconclusive", input.inconclusive);
        json.member("wrong", input.wrong);
        json.member("first_wrong", input.first_wrong);
        json.member("one_factor", input.one_factor);
        json.list("unseen", input.unseen, [&](const Unseen& unseen) { write(json, unseen); });
        json.member("steps", [&] {
            json.array([&] {
                write_number(json, input.least_step);
                write_number(json, input.most_step);
            });
        });
        write_number(json, "noise", input.noise);
        write_number(json, "resolution", input.resolution);
        json.member("worst", [&] { write(json, input.worst); });
        json.list("oracles", input.opinions, [&](const Opinion& opinion) { write(json, opinion); });
    });
}

void write(JsonWriter& json, const PointReport& point) {
    json.object([&] {
        json.member("what", point.what);
        json.member("verdict", to_string(point.verdict));
        json.member("reason", to_string(point.reason));
        json.list("starts_with", point.starts_with, [&](const std::vector<double>& numbers) {
            json.array([&] {
                for (const double x : numbers) write_number(json, x);
            });
        });
    });
}

void write(JsonWriter& json, const WrongOp& wrong) {
    json.object([&] {
        json.member("op", wrong.op);
        json.member("module", wrong.module_path);
        json.member("entry", wrong.number);
        json.member("operand", wrong.operand);
        json.member("shapes", wrong.shapes);
        json.member("form", wrong.form);
        json.member("wrong", wrong.wrong);
        json.member("slope", [&] { write(json, wrong.slope); });
        json.member("cause", [&] { write(json, wrong.cause); });
        json.member("others", wrong.others);
    });
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
    JsonWriter json(2);
    json.object([&] {
        json.member("subject", report.subject);
        json.member("verdict", to_string(report.verdict));
        json.member("reason", to_string(report.reason));
        json.member("evaluations", report.runs);
        json.member("certainty", report.certainty);
        write_number(json, "resolution", report.resolution);
        json.member("complaints", report.complaints);
        json.member("not_defined", report.not_defined);
        json.member("limit", report.limit);
        json.member("seed", report.seed);
        json.member("reproduce", report.reproduce);
        json.list("points", report.points, [&](const PointReport& point) { write(json, point); });
        json.list("inputs", report.inputs, [&](const InputReport& input) { write(json, input); });
        if (report.first_wrong) {
            json.member("first_wrong", [&] { write(json, *report.first_wrong); });
        }
        if (report.cause) json.member("cause", [&] { write(json, *report.cause); });
    });
    return json.text();
}

}  // namespace tapestry
