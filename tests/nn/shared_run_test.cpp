// Whole runs of several processes, as threads: weights, moments, losses, checkpoints, and errors
// before the first step.
#include <tapestry/core/file.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <mutex>

using namespace tapestry;
using test::check_message;

namespace {

TrainingConfig config_of(const test::RunPlace& place) {
    TrainingConfig config = place.config();
    config.model.dropout = 0.1;
    config.batch = 8;
    config.micro_batches = 8;
    config.steps = 6;
    config.warmup = 2;
    config.eval_every = 3;
    config.eval_batches = 5;
    config.clip = 0.5;
    return config;
}

// Trains in place.out with `processes` processes, to the end or to `last`.
void train(const test::RunPlace& place, const TrainingConfig& config, int processes,
           bool resume = false, std::int64_t last = 1000) {
    train_shared(place, config, {.processes = processes, .resume = resume, .last = last});
}

// Everything that a run leaves, except clock values.
std::string left_in(const test::RunPlace& place) {
    std::string all = test::without_times(test::slurp(place.out / "metrics.jsonl"));
    const SafetensorsFile checkpoint =
        read_safetensors(place.out / stored_checkpoints(place.out).back().name());
    for (const auto& one : checkpoint.tensors) {  // clang 14 cannot capture structured bindings
        const Tensor& x = one.second;
        all += one.first;
        visit_dtype(x.dtype(), [&](auto zero) {
            all.append(reinterpret_cast<const char*>(x.data<decltype(zero)>()), x.bytes());
        });
    }
    // The run's clock values differ, and so does the checksum of the metrics.
    const std::string& numbers = checkpoint.metadata.at("checkpoint");
    return all + numbers.substr(0, numbers.find("\"run\""));
}

std::string trained(const TrainingConfig& config, int processes) {
    const test::RunPlace place;
    TrainingConfig here = config;
    here.text = place.text.string();
    train(place, here, processes);
    std::string all = left_in(place);
    for (auto at = all.find(here.text); at != all.npos; at = all.find(here.text)) {
        all.replace(at, here.text.size(), "TEXT");
    }
    return all;
}

}  // namespace

TEST_CASE(
    "shared run: weights, moments, metrics, gradients: those of one process, for any number") {
    const test::RunPlace place;
    for (const std::int64_t accumulate : {1, 3}) {
        TrainingConfig config = config_of(place);
        config.accumulate = accumulate;
        const std::string alone = trained(config, 1);
        CHECK(alone.find("grad_xxh3") != alone.npos);
        for (const int processes : {2, 3, 7, 8}) {
            INFO(processes << " processes, " << accumulate << " batches");
            CHECK((trained(config, processes) == alone));
        }
    }
}

TEST_CASE("shared run: interrupted, and resumed by another number of processes") {
    for (const std::string kind : {"adamw", "muon"}) {
        if (test::is_short() && kind == "adamw") continue;
        CAPTURE(kind);
        const auto config_in = [&kind](const test::RunPlace& place) {
            TrainingConfig config = config_of(place);
            config.optimizer = kind;
            return config;
        };
        const test::RunPlace whole, parts;
        train(whole, config_in(whole), 1);
        const TrainingConfig config = config_in(parts);
        train(parts, config, 4, false, 1);
        train(parts, config, 1, true, 3);
        train(parts, config, 3, true, 4);
        train(parts, config, 8, true);
        const auto model = [](const test::RunPlace& place) {
            return test::slurp(place.out / "model.safetensors");
        };
        CHECK((model(whole) == model(parts)));
    }
}

TEST_CASE("shared run: what is refused, everywhere and with both values") {
    const test::RunPlace place, other;
    test::spill(other.text, "another text altogether\n" + test::slurp(other.text));
    const auto refused = [&](int processes, const auto& change, const char* words) {
        std::mutex mutex;
        int threw = 0;
        std::string message;
        run_in_threads(processes, [&](Communicator& c) {
            TrainingConfig config = config_of(place);
            change(config, c.rank());
            try {
                begin_shared_run(c, {.config = config, .out = place.out.string()});
            } catch (const AgreedError& error) {
                const std::lock_guard lock(mutex);
                ++threw;
                message = error.what();
            }
        });
        CHECK_EQ(threw, processes);
        CHECK_MESSAGE(message.find(words) != message.npos, message);
    };
    refused(
        9, [](TrainingConfig&, int) {},
        "train: 9 processes for the 8 micro-batches of a step (--micro-batches 8, --accumulate "
        "1); each needs one");
    refused(
        2, [](TrainingConfig& c, int) { c.micro_batches = 1; },
        "train: 2 processes share the micro-batches of a step");
    refused(
        2, [](TrainingConfig& c, int) { c.micro_batches = 3; },
        "train: micro_batches 3 does not divide batch 8");
    CHECK_FALSE(std::filesystem::exists(place.out));
    refused(
        3, [](TrainingConfig& c, int rank) { c.lr = rank == 2 ? 0.5 : 0.25; },
        "lr is 0.25 in process 0 and 0.5 in process 2 on ");
    refused(
        3,
        [&](TrainingConfig& c, int rank) {
            if (rank == 1) c.text = other.text.string();
        },
        "data is ");
    refused(
        2,
        [](TrainingConfig& c, int rank) {
            if (rank == 1) c.text = "nowhere.txt";
        },
        "process 1 on ");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("shared run: a session is still shared by its own functions") {
    const test::RunPlace place;
    const TrainingConfig config = config_of(place);
    double alone = 0;
    for (Session one(config); !one.is_finished();) alone = one.take_step().loss;
    run_in_threads(2, [&](Communicator& c) {
        Session session(config);
        session.share_among(c);
        if (c.rank() != 0) return session.follow();
        double last = 0;
        while (!session.is_finished()) last = session.take_step().loss;
        session.dismiss();
        CHECK_EQ(last, alone);
    });
}
#pragma GCC diagnostic pop
