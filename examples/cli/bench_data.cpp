// tapestry bench data: how fast texts become ids.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/bench/report.h>

#include <fmt/core.h>

namespace tapestry::cli {

void add_bench_data(Options& parent) {
    struct Settings {
        bench::DataOptions measured;
        bool json = false;
    };
    auto s = std::make_shared<Settings>();
    Options& o = parent.subcommand("data", "Tokenizing, learning byte pairs, drawing batches");
    o.text("--text", s->measured.text, "UTF-8 text to do it with").required();
    o.count("--vocab", s->measured.vocab, "Tokens of the byte pairs", {257, 1'000'000});
    o.count("--batch", s->measured.batch, "Sequences per batch");
    o.count("--context", s->measured.context, "Tokens in a sequence");
    o.number("--seconds", s->measured.seconds, 0, 60,
             "Time for each row; it is run five times at least");
    add_json(o, s->json);
    o.run([s] {
        const bench::DataRow row = bench::measure_data(s->measured);
        fmt::print("{}\n", s->json ? bench::to_json(row) : bench::to_text(row));
        return kSuccess;
    });
}

}  // namespace tapestry::cli
