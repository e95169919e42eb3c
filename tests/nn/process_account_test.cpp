// The work that each process of a shared run reports: 1/P of the tokens, products and moments of
// one process. The processes are threads here.
#include <tapestry/autograd/observer.h>
#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/nn/distributed/thread_group.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <nlohmann/json.hpp>

#include <set>

using namespace tapestry;
using doctest::Approx;
using Accounts = std::vector<ProcessAccount>;

namespace {

// The FLOPs of this thread's products, counted as they run.
class CountedProducts final : public TapeObserver {
public:
    double flops = 0;
    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        if (is_product(op)) flops += forward_work(op, inputs, outputs).flops;
    }
    void walked(Op& op, const Tensors& incoming, Tensors& outgoing) override {
        if (is_product(op)) flops += backward_work(op, incoming, outgoing).flops;
    }

private:
    static bool is_product(const Op& op) {
        static const std::set<std::string_view> names{"matmul", "linear", "attention"};
        return names.contains(op.name());
    }
};

struct Counted {
    Accounts accounts;             // as process 0 received them
    std::vector<double> flops;     // as counted in each
    nlohmann::json in_the_report;  // as its page shows them
};

// A run of three steps with 8 micro-batches each.
Counted counted(int processes) {
    const test::RunPlace place;
    TrainingConfig config = place.config();
    config.model.layers = 2;
    config.model.dim = 96;  // 28 pieces of 8192 parameters
    config.batch = 8;
    config.micro_batches = 8;
    config.steps = 3;
    config.eval_every = 0;
    Counted all;
    all.flops.resize(static_cast<std::size_t>(processes));
    run_in_threads(processes, [&](Communicator& c) {
        CountedProducts products;
        const BegunRun begun = begin_shared_run(c, {.config = config, .out = place.out.string()});
        if (c.rank() == 0) {
            TrainingRunOptions options{};
            options.checkpoints.written = false;
            TrainingRun(*begun.session, *begun.directory, options).to_the_end();
            all.accounts = begun.session->accounts();
            begun.shared->dismiss();
        } else {
            begun.shared->follow();
        }
        all.flops[static_cast<std::size_t>(c.rank())] = products.flops;
    });
    const std::string data = test::data_of_page(test::slurp(place.out / "report.html"));
    all.in_the_report = nlohmann::json::parse(data).at("processes");
    return all;
}

}  // namespace

TEST_CASE("process account: tokens, products and moments are a P-th of one process's") {
    const Counted one = counted(1);
    REQUIRE_EQ(one.accounts.size(), 1);
    const ProcessAccount& whole = one.accounts[0];
    CHECK_EQ(whole.tokens, 3 * 8 * 8);
    CHECK_EQ(whole.flops, Approx(one.flops[0]).epsilon(0.03));
    CHECK_EQ(whole.bytes_sent, 0);
    for (const int processes : {2, 3, 4}) {
        if (test::is_short() && processes != 3) continue;
        INFO(processes << " processes");
        const Counted all = counted(processes);
        REQUIRE_EQ(all.accounts.size(), processes);
        ProcessAccount sum;
        for (std::size_t p = 0; p < all.accounts.size(); ++p) {
            const ProcessAccount& account = all.accounts[p];
            CHECK_EQ(account.flops, Approx(all.flops[p]).epsilon(0.03));
            const double micro_batch = whole.tokens / 8;
            CHECK(std::abs(account.tokens - whole.tokens / processes) < micro_batch);
            CHECK_EQ(account.flops / whole.flops, Approx(account.tokens / whole.tokens));
            const double piece = 2 * sizeof(float) * 8192;  // both moments of one
            CHECK(std::abs(account.moment_bytes - whole.moment_bytes / processes) < piece);
            CHECK(account.bytes_sent > 0);
            CHECK(account.seconds > 0);
            CHECK(account.waiting > 0);
            CHECK(account.waiting < account.seconds);
            CHECK(account.travel > 0);
            CHECK(account.travel_waited < account.travel);
            sum.tokens += account.tokens;
            sum.flops += account.flops;
            sum.moment_bytes += account.moment_bytes;
        }
        CHECK_EQ(sum.tokens, whole.tokens);
        CHECK_EQ(sum.flops, Approx(whole.flops));
        CHECK_EQ(sum.moment_bytes, whole.moment_bytes);
        REQUIRE_EQ(all.in_the_report.size(), all.accounts.size());
        CHECK_EQ(all.in_the_report[1].at("tokens").get<double>(), all.accounts[1].tokens);
        CHECK_EQ(all.in_the_report[1].at("host").get<std::string>(), all.accounts[1].host);
    }
}

TEST_CASE("process account: a line for each") {
    const ProcessAccount account{.host = "alpha",
                                 .threads = 2,
                                 .tokens = 6400,
                                 .flops = 2.5e10,
                                 .seconds = 4,
                                 .waiting = 1,
                                 .travel = 2,
                                 .travel_waited = 0.1,
                                 .bytes_sent = 3e6,
                                 .moment_bytes = 1.5e6};
    CHECK_EQ(processes_text({account}, "tokens"),
             "process 0 on alpha: 2 threads, 6400 tokens, 1600 a second, 25 GFLOP of products, 3.0 "
             "MB sent, 25% of the time in messages, 95% of the gradients' hidden, 1.50 MB of "
             "moments\n");
}
