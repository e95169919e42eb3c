// tapestry gradcheck: every op's backward rule against central differences.
#include <tapestry/autograd/gradcheck.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/tests/ops/op_case.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace tapestry::cli {
namespace {

struct GradcheckSettings {
    std::string op;
    int order = 0;  // both
    bool json = false;
};

struct Verdict {
    std::string op;
    int order;
    double worst = 0;
    std::string message;  // empty if right
};

Verdict check_row(const test::OpCase& row, int order) {
    Verdict verdict{row.title(), order, 0, {}};
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
        const Tensors inputs = test::make_inputs(row.samples[i], DType::f64, 17 + i);
        const GradcheckResult result =
            order == 1 ? gradcheck(row.op, inputs) : gradgradcheck(row.op, inputs);
        verdict.worst = std::max(verdict.worst, result.worst);
        if (!result && verdict.message.empty()) {
            verdict.message = fmt::format("sample {}: {}", i, result.message);
        }
    }
    return verdict;
}

std::vector<Verdict> check_rows(const GradcheckSettings& s) {
    std::vector<Verdict> verdicts;
    bool known = false;
    for (const test::OpCase& row : test::all_cases()) {
        if (!s.op.empty() && row.name != s.op) continue;
        known = true;
        if (!row.differentiable) continue;
        for (const int order : {1, 2}) {
            if (s.order == 0 || s.order == order) verdicts.push_back(check_row(row, order));
        }
    }
    require(known, "gradcheck: no op is called \"{}\"; without --op all are checked", s.op);
    return verdicts;
}

int run_gradcheck(const GradcheckSettings& s) {
    const std::vector<Verdict> verdicts = check_rows(s);
    const auto wrong = std::count_if(verdicts.begin(), verdicts.end(),
                                     [](const Verdict& v) { return !v.message.empty(); });
    if (s.json) {
        nlohmann::ordered_json json{
            {"checked", verdicts.size()}, {"wrong", wrong}, {"results", nlohmann::json::array()}};
        for (const Verdict& v : verdicts) {
            json["results"].push_back({{"op", v.op},
                                       {"order", v.order},
                                       {"ok", v.message.empty()},
                                       {"worst", v.worst},
                                       {"message", v.message}});
        }
        fmt::print("{}\n", json.dump(2));
    } else {
        for (const Verdict& v : verdicts) {
            fmt::print("{}  {:<44} order {}  largest error {:.1e}\n",
                       v.message.empty() ? "ok   " : "WRONG", v.op, v.order, v.worst);
            if (!v.message.empty()) fmt::print("       {}\n", v.message);
        }
        fmt::print("{} gradients checked, {} wrong\n", verdicts.size(), wrong);
    }
    return wrong == 0 ? kSuccess : kFailure;
}

}  // namespace

void add_gradcheck(CLI::App& app, Run& run) {
    auto s = std::make_shared<GradcheckSettings>();
    CLI::App& command = *app.add_subcommand("gradcheck", "Check the ops' gradients numerically");
    command.add_option("--op", s->op, "Only this op");
    command.add_option("--order", s->order, "Only first (1) or second (2) derivatives")
        ->check(CLI::Range(1, 2));
    command.add_flag("--json", s->json, "Print one JSON object");
    command.callback([s, &run] { run = [s] { return run_gradcheck(*s); }; });
}

}  // namespace tapestry::cli
