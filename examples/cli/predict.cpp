// tapestry predict: predicts the target of a table's rows with a network that `tapestry train
// --task table` has trained.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/train/table/table_task.h>

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

namespace tapestry::cli {
namespace {

struct PredictSettings {
    std::string model, table;
    std::int64_t top_k = 1;
    bool top_k_given = false;
    int threads = num_threads();
};

int run_predict(const PredictSettings& s) {
    set_num_threads(s.threads);
    const std::unique_ptr<TableTask> task = load_table_task(s.model);
    require(!s.top_k_given || !task->labels().empty(),
            "predict: {} predicts a number, which has no --top-k", utf8::printable(s.model));
    const Table table = task->read(s.table, false);
    if (const std::string unknown = task->unknown_values(table); !unknown.empty()) warn(unknown);
    for (const RowPrediction& row : task->predict(table, s.top_k)) {
        if (row.labels.empty()) {
            print("{:.9g}\n", row.number);
            continue;
        }
        std::string line;
        for (const LabelProbability& one : row.labels) {
            line += fmt::format("{}{}\t{:.4f}", line.empty() ? "" : "\t",
                                utf8::printable(one.label), one.probability);
        }
        print("{}\n", line);
    }
    return kSuccess;
}

}  // namespace

void add_predict(Options& app) {
    auto s = std::make_shared<PredictSettings>();
    Options& o = app.subcommand(
        "predict", "Predict a column of a table, a line per row, with a trained network");
    o.example("--model runs/iris --table new.csv");
    o.text("--model", s->model, "Directory written by `tapestry train --task table`").required();
    o.text("--table", s->table,
           "A .csv or .tsv with the columns that the model reads; others are ignored")
        .required();
    o.count("--top-k", s->top_k, "Classes to print for each row, with their probabilities");
    o.threads(s->threads);
    o.run([s, &o] {
        s->top_k_given = o.given("--top-k");
        return run_predict(*s);
    });
}

}  // namespace tapestry::cli
