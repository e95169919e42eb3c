#include <tapestry/nn/train/shared_run.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/text/counted.h>
#include <tapestry/core/version.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

// For messages; what process 0 says needs no name.
std::string process_name(const Communicator& c, int process) {
    return fmt::format("process {} on {}", process, c.host_of(process));
}

constexpr std::string_view kBeginning = "what the others begin with";

// All tell what went wrong with them, or nothing; the first that has something is thrown by all.
void agree(Communicator& c, const std::string& error) {
    const std::vector<std::string> errors = all_gather(c, error, kBeginning);
    for (std::size_t p = 0; p < errors.size(); ++p) {
        require<AgreedError>(
            errors[p].empty(), "{}{}",
            p == 0 ? "" : fmt::format("{}: ", process_name(c, static_cast<int>(p))), errors[p]);
    }
}

// Runs `f` here, and throws everywhere what it throws anywhere.
template <class F>
void together(Communicator& c, const F& f) {
    std::string error;
    try {
        f();
    } catch (const std::exception& caught) {
        error = caught.what();
    }
    agree(c, error);
}

using Facts = std::vector<std::pair<std::string, std::string>>;  // what, and its value

// Values may hold anything but this.
constexpr char kSeparator = '\0';

std::vector<std::string> split(const std::string& values) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < values.size(); at = values.find(kSeparator, at) + 1) {
        all.push_back(values.substr(at, values.find(kSeparator, at) - at));
    }
    return all;
}

// The same everywhere, or AgreedError with process 0's value and the other one.
void check_same(Communicator& c, const Facts& facts) {
    std::string mine;
    for (const auto& [what, value] : facts) mine += value + kSeparator;
    const std::vector<std::string> all = all_gather(c, mine, kBeginning);
    const std::vector<std::string> first = split(all[0]);
    for (std::size_t p = 1; p < all.size(); ++p) {
        const std::vector<std::string> values = split(all[p]);
        require<AgreedError>(values.size() == facts.size() && first.size() == facts.size(),
                             "processes of different versions");
        for (std::size_t i = 0; i < facts.size(); ++i) {
            require<AgreedError>(
                values[i] == first[i],
                "{} is {} in process 0 and {} in {}; it has to be the same everywhere",
                facts[i].first, first[i], values[i], process_name(c, static_cast<int>(p)));
        }
    }
}

bool may_differ(std::string_view field) {
    return field == "text" || field == "data" || field == "start";
}

// The version alone at first: another one may know of other settings.
void check_same_request(Communicator& c, const RunRequest& request) {
    check_same(c, {{"version", std::string(version())}});
    Facts facts;
    const auto& overrides = request.overrides;
    const bool any_isa = std::find(overrides.begin(), overrides.end(), "isa") != overrides.end();
    facts.emplace_back("isa", any_isa ? "any" : std::string(name_of(current_isa())));
    facts.emplace_back("timeout", fmt::format("{}", c.timeout()));
    for_each_field<TrainingConfig>([&](const auto& one) {
        if (!may_differ(one.name)) {
            facts.emplace_back(one.name, value_text(request.config.*one.member));
        }
    });
    for_each_field<GPTConfig>([&](const auto& one) {
        facts.emplace_back(one.name, value_text(request.config.model.*one.member));
    });
    check_same(c, facts);
}

// Before anything is made; a run that goes on may have other settings, and is looked at later.
void check_processes(const Communicator& c, const TrainingConfig& config) {
    require(config.micro_batches > 1,
            "train: {} processes share the micro-batches of a step; --micro-batches says into how "
            "many a batch is cut, the same for any number of processes",
            c.size());
    require(c.size() <= config.micro_batches * config.accumulate,
            "train: {} processes for the {} micro-batches of a step (--micro-batches {}, "
            "--accumulate {}); each needs one",
            c.size(), config.micro_batches * config.accumulate, config.micro_batches,
            config.accumulate);
    static_cast<void>(config.micro_batch_size());
}

// Another process's session: process 0's configuration, and data of its own.
std::unique_ptr<Session> follower(const std::string& config_of_leader, const RunRequest& request,
                                  const TextCache* cache) {
    TrainingConfig config = training_config_from_json(config_of_leader, "process 0's training");
    if (!request.config.text.empty() || !request.config.data.empty()) {
        config.text = request.config.text;
        config.data = request.config.data;
    }
    return std::make_unique<Session>(config, cache);
}

}  // namespace

BegunRun begin_shared_run(Communicator& c, const RunRequest& request, const TextCache* cache,
                          const std::function<void(const std::string&)>& told) {
    if (c.size() == 1) return begin_run(request, cache, told);
    check_same_request(c, request);
    BegunRun run;
    std::string config;
    together(c, [&] {
        if (c.rank() != 0) return;
        if (!request.resume && request.fork.empty()) check_processes(c, request.config);
        run = begin_run(request, cache, told);
        check_processes(c, run.session->config());
        config = to_json(run.session->config());
    });
    broadcast(c, 0, config, kBeginning);
    together(c, [&] {
        if (c.rank() != 0) run.session = follower(config, request, cache);
    });
    check_same(c, {{"data", run.session->data_checksum()}});
    together(c, [&] { run.session->share_among(c); });
    return run;
}

std::string processes_text(const std::vector<ProcessAccount>& processes) {
    std::string text;
    for (std::size_t rank = 0; rank < processes.size(); ++rank) {
        const ProcessAccount& p = processes[rank];
        text += fmt::format(
            "process {} on {}: {}, {} tokens, {:.0f} a second, {:.3g} GFLOP of products, "
            "{:.1f} MB sent, {:.0f}% of the time in messages, {:.0f}% of the gradients' hidden, "
            "{:.2f} MB of moments\n",
            rank, p.host, counted(static_cast<std::int64_t>(p.threads), "thread"), p.tokens,
            p.tokens_per_second(), p.flops / 1e9, p.bytes_sent / 1e6, 100 * p.waiting_share(),
            100 * p.hidden_share(), p.moment_bytes / 1e6);
    }
    return text;
}

}  // namespace tapestry
