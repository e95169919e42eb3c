// The part of Session for several processes. Process 0 broadcasts each command as a number, and the
// others wait for it between steps, so code that uses process 0's session to save, sample or pause
// need not know of them.
#include <tapestry/core/parallel.h>
#include <tapestry/nn/data_parallel/data_parallel.h>
#include <tapestry/nn/data_parallel/sync_state.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/session.h>

#include <array>
#include <chrono>
#include <numeric>

namespace tapestry {
namespace {

constexpr std::string_view kNext = "the next command";

enum Command : std::uint64_t { kStep, kStepAndGradients, kState, kAccounts, kEnd };

// The numeric fields of an account, in the order in which they are sent.
constexpr std::array kNumbers{
    &ProcessAccount::threads,       &ProcessAccount::tokens,     &ProcessAccount::flops,
    &ProcessAccount::seconds,       &ProcessAccount::waiting,    &ProcessAccount::travel,
    &ProcessAccount::travel_waited, &ProcessAccount::bytes_sent, &ProcessAccount::moment_bytes};

}  // namespace

void Session::share_among(Communicator& communicator) {
    if (communicator.size() == 1) return;
    const std::int64_t step = broadcast_state(communicator, checkpoint());
    communicator_ = &communicator;
    start_loop(step);
}

void Session::lead(std::uint64_t command) {
    broadcast(*communicator_, 0, std::as_writable_bytes(std::span(&command, 1)), kNext);
}

StepMetrics Session::take_step() {
    if (leads()) {
        collects_gradients_ = watchers_.reads_gradients && watchers_.reads_gradients(steps() + 1);
        lead(collects_gradients_ ? kStepAndGradients : kStep);
    }
    return take_own_step();
}

void Session::follow() {
    std::string diverged;
    for (;;) {
        std::uint64_t command = 0;
        broadcast(*communicator_, 0, std::as_writable_bytes(std::span(&command, 1)), kNext);
        if (command == kEnd) break;
        if (command == kState) {
            loop_->step().data_parallel()->collect_state();
            continue;
        }
        if (command == kAccounts) {
            gather_accounts();
            continue;
        }
        collects_gradients_ = command == kStepAndGradients;
        try {
            take_own_step();
        } catch (const DivergedError& error) {  // process 0 diverges as well, and ends all
            diverged = error.what();
        }
    }
    require<DivergedError>(diverged.empty(), "{}", diverged);
}

void Session::dismiss() {
    if (leads()) lead(kEnd);
}

// Batches and random numbers advance as if this process had computed all leaves, regardless
// of its share; every leaf draws the same amount.
StepMetrics Session::take_own_step() {
    if (leaves_taken_ == 0) {
        began_ = std::chrono::steady_clock::now();
        waited_before_ = communicator_ == nullptr ? 0 : communicator_->seconds();
    }
    micro_batch_ = loop_->step().share().begin;
    drawn_ = 0;
    const StepMetrics metrics = loop_->next();
    if (communicator_ == nullptr) return metrics;
    while (drawn_ < config_.accumulate) draw_batch();
    const auto last = static_cast<std::uint64_t>(config_.accumulate * config_.micro_batches - 1);
    const Generator dropout =
        stream(config_.seed, "dropout", static_cast<std::uint64_t>(steps()), last);
    weights_.set_state(dropout.seed(), weights_.offset());
    return metrics;
}

void Session::before_update(std::int64_t step) {
    if (collects_gradients_) loop_->step().data_parallel()->collect_gradients();
    if (watchers_.before_update) watchers_.before_update(step);
}

Checkpoint Session::checkpoint() {
    if (leads()) {
        lead(kState);
        loop_->step().data_parallel()->collect_state();
    }
    return {.module = *model_,
            .optimizer = *optimizer_,
            .generators = {{"weights", &weights_}, {"batches", &batches_}},
            .step = steps(),
            .config = to_json(config_),
            .data = data_checksum()};
}

// Each process takes some of the batches; the sum runs over all of them in order.
double Session::evaluate_together() {
    if (communicator_ == nullptr) return evaluate();
    Generator generator = stream(config_.seed, Stream::evaluation);
    std::vector<std::size_t> counts;
    for (int p = 0; p < communicator_->size(); ++p) {
        const Range range = share_of(config_.eval_batches, p, communicator_->size());
        counts.push_back(static_cast<std::size_t>(range.size()));
    }
    const Range own = share_of(config_.eval_batches, communicator_->rank(), communicator_->size());
    const std::vector<double> mine =
        batch_losses(*model_, data(), Split::validation,
                     {.batches = config_.eval_batches, .batch = config_.batch}, generator, own);
    double total = 0;
    for (const auto& losses :
         all_gather(*communicator_, mine, counts, "the losses of an evaluation")) {
        total = std::accumulate(losses.begin(), losses.end(), total);
    }
    return total / static_cast<double>(config_.eval_batches);
}

std::size_t Session::moment_bytes() {
    DataParallel* const parallel = loop_->step().data_parallel();
    if (parallel != nullptr && parallel->keeps_slices()) return parallel->moment_bytes();
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : optimizer_->shared_state().tensors) {
        if (!name.starts_with("steps.")) bytes += tensor.bytes();
    }
    return bytes;
}

ProcessAccount Session::own_account() {
    const auto leaves = static_cast<double>(leaves_taken_);
    const std::int64_t rows = config_.micro_batch_size();
    ProcessAccount own{
        .host = communicator_ == nullptr ? OneProcess().host() : communicator_->host(),
        .threads = static_cast<double>(num_threads()),
        .tokens = leaves * static_cast<double>(rows * config_.context()),
        .flops = leaves * step_flops(config_.model_config(), rows),
        .moment_bytes = static_cast<double>(moment_bytes())};
    if (leaves_taken_ == 0) return own;
    const auto taken = std::chrono::steady_clock::now() - began_;
    own.seconds = std::chrono::duration<double>(taken).count();
    if (communicator_ == nullptr) return own;
    own.waiting = communicator_->seconds() - waited_before_;
    const StepTraffic traffic = loop_->step().traffic();
    own.travel = traffic.gradients;
    own.travel_waited = traffic.waited;
    own.bytes_sent = static_cast<double>(communicator_->bytes_sent());
    return own;
}

std::vector<ProcessAccount> Session::gather_accounts() {
    const ProcessAccount own = own_account();
    std::vector<double> numbers;
    for (const auto number : kNumbers) numbers.push_back(own.*number);
    const std::vector<std::size_t> counts(static_cast<std::size_t>(communicator_->size()),
                                          kNumbers.size());
    std::vector<ProcessAccount> all;
    for (const auto& one :
         all_gather(*communicator_, numbers, counts, "the statistics of each process")) {
        ProcessAccount& account = all.emplace_back();
        account.host = communicator_->host_of(static_cast<int>(all.size()) - 1);
        for (std::size_t i = 0; i < kNumbers.size(); ++i) account.*kNumbers[i] = one[i];
    }
    return all;
}

std::vector<ProcessAccount> Session::accounts() {
    if (communicator_ == nullptr) return {own_account()};
    lead(kAccounts);
    return gather_accounts();
}

}  // namespace tapestry
