// The headings below which `tapestry train --help` lists its options. An option that is in none of
// them is listed first, so a new one need not be entered here.
#include <tapestry/examples/cli/options.h>

#include <utility>
#include <vector>

namespace tapestry::cli {
namespace {

using Group = std::pair<const char*, std::vector<const char*>>;

const std::vector<Group>& train_groups() {
    static const std::vector<Group> all{
        {"Data",
         {"--text", "--data", "--chat-template", "--chat-system", "--pairs", "--images",
          "--questions", "--table", "--test-fraction", "--batch", "--sequence", "--order",
          "--accumulate", "--micro-batches", "--no-cache"}},
        {"Beginning and resuming",
         {"--out", "--model", "--train-only", "--lora", "--lora-alpha", "--lora-dropout",
          "--lora-targets", "--lora-rank-stabilized", "--resume", "--overwrite", "--override",
          "--fork", "--step"}},
        {"Model",
         {"--kind",        "--context",      "--layers",     "--heads",        "--kv-heads",
          "--head-dim",    "--attention",    "--window",     "--head-dropout", "--recompute",
          "--dim",         "--hidden",       "--activation", "--positions",    "--embedding-scale",
          "--rotary-base", "--rotary-share", "--qk-norm",    "--bias",         "--tied-head",
          "--deviation",   "--zero-outputs", "--earlier",    "--token-pairs",  "--softcap",
          "--dropout",     "--compute",      "--weights",    "--exportable"}},
        {"Model of --task classify",
         {"--buckets", "--words", "--word-ngrams", "--shortest", "--longest"}},
        {"Model of --task translate, mask or answer", {"--max-length"}},
        {"Model of --task translate", {"--norm-first", "--share-embeddings", "--label-smoothing"}},
        {"Model of --task translate or answer", {"--pieces"}},
        {"Model of --task image", {"--patch", "--image-size"}},
        {"Model of --task answer", {"--max-answer"}},
        {"Columns and model of --task table",
         {"--target", "--categories", "--ignore", "--hidden-layers", "--category-dim"}},
        {"Steps and learning rate",
         {"--steps", "--minutes", "--lr", "--min-lr", "--warmup", "--schedule", "--cooldown",
          "--clip"}},
        {"Optimiser",
         {"--optimizer", "--muon-lr", "--muon-momentum", "--muon-iterations", "--weight-decay",
          "--beta1", "--beta2", "--eps", "--momentum", "--nesterov", "--alpha", "--centered"}},
        {"Evaluation and report",
         {"--eval-every", "--eval-batches", "--show-samples", "--no-report", "--trap-nan",
          "--hash-every"}},
        {"Checkpoints",
         {"--checkpoint-every", "--keep", "--best", "--rewind-budget", "--wait-for-disk"}},
        {"Machine", {"--seed", "--threads", "--plan", "--timeout"}},
    };
    return all;
}

}  // namespace

void group_train_options(Options& options) {
    for (const auto& [group, names] : train_groups()) {
        for (const char* name : names) {
            if (options.declares(name)) options.option(name).group(group);
        }
    }
}

}  // namespace tapestry::cli
