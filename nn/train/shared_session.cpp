#include <tapestry/nn/train/shared_session.h>

#include <tapestry/nn/data_parallel/data_parallel.h>
#include <tapestry/nn/data_parallel/sync_state.h>
#include <tapestry/nn/train/evaluate.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

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

SharedSession::SharedSession(Session& session, Communicator& communicator)
    : session_(session), communicator_(communicator) {
    if (communicator_.size() == 1) return;
    const std::int64_t step = broadcast_state(communicator_, session_.checkpoint());
    session_.shared_ = this;
    session_.start_loop(step);
}

SharedSession::~SharedSession() {
    if (session_.shared_ == this) session_.shared_ = nullptr;
}

DataParallel& SharedSession::parallel() { return *session_.loop_->step().data_parallel(); }

// ---- commands -----------------------------------------------------------------------------------

void SharedSession::lead(std::uint64_t command) {
    broadcast(communicator_, 0, std::as_writable_bytes(std::span(&command, 1)), kNext);
}

std::uint64_t SharedSession::next_command() {
    std::uint64_t command = 0;
    broadcast(communicator_, 0, std::as_writable_bytes(std::span(&command, 1)), kNext);
    return command;
}

void SharedSession::follow() {
    if (communicator_.size() == 1) return;
    std::string diverged;
    for (std::uint64_t command = next_command(); command != kEnd; command = next_command()) {
        if (command == kState) {
            parallel().collect_state();
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

void SharedSession::dismiss() {
    if (leads()) lead(kEnd);
}

// ---- what a session asks for --------------------------------------------------------------------

StepMetrics SharedSession::take_step() {
    if (leads()) {
        const auto& reads = session_.watchers_.reads_gradients;
        collects_gradients_ = reads && reads(session_.steps() + 1);
        lead(collects_gradients_ ? kStepAndGradients : kStep);
    }
    return take_own_step();
}

StepMetrics SharedSession::take_own_step() {
    if (session_.leaves_taken_ == 0) waited_before_ = communicator_.seconds();
    return session_.take_own_step();
}

void SharedSession::before_update() {
    if (collects_gradients_) parallel().collect_gradients();
}

void SharedSession::collect_state() {
    if (!leads()) return;
    lead(kState);
    parallel().collect_state();
}

// Each process takes some of the batches; the sum runs over all of them in order.
double SharedSession::evaluate() {
    Task& task = session_.task();
    Generator generator = stream(session_.config().seed, Stream::evaluation);
    const std::int64_t batches = task.validation_batches();
    const Range own = share_of(batches, communicator_.rank(), communicator_.size());
    const BatchLosses mine = validation_losses(task, generator, own);
    std::vector<std::size_t> sizes;
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range range = share_of(batches, p, communicator_.size());
        sizes.push_back(static_cast<std::size_t>(range.size()));
    }
    const auto gather = [&](const std::vector<double>& numbers) {
        std::vector<double> all;
        for (const auto& part :
             all_gather(communicator_, numbers, sizes, "the losses of an evaluation")) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    };
    return mean_loss({.means = gather(mine.means), .counts = gather(mine.counts)});
}

// ---- accounts -----------------------------------------------------------------------------------

ProcessAccount SharedSession::own_account() {
    ProcessAccount own = session_.own_account(parallel().keeps_slices() ? parallel().moment_bytes()
                                                                        : session_.moment_bytes());
    own.host = communicator_.host();
    if (session_.leaves_taken_ == 0) return own;
    own.waiting = communicator_.seconds() - waited_before_;
    const StepTraffic traffic = session_.loop_->step().traffic();
    own.travel = traffic.gradients;
    own.travel_waited = traffic.waited;
    own.bytes_sent = static_cast<double>(communicator_.bytes_sent());
    return own;
}

std::vector<ProcessAccount> SharedSession::gather_accounts() {
    const ProcessAccount own = own_account();
    std::vector<double> numbers;
    for (const auto number : kNumbers) numbers.push_back(own.*number);
    const std::vector<std::size_t> counts(static_cast<std::size_t>(communicator_.size()),
                                          kNumbers.size());
    std::vector<ProcessAccount> all;
    for (const auto& one :
         all_gather(communicator_, numbers, counts, "the statistics of each process")) {
        ProcessAccount& account = all.emplace_back();
        account.host = communicator_.host_of(static_cast<int>(all.size()) - 1);
        for (std::size_t i = 0; i < kNumbers.size(); ++i) account.*kNumbers[i] = one[i];
    }
    return all;
}

std::vector<ProcessAccount> SharedSession::accounts() {
    lead(kAccounts);
    return gather_accounts();
}

}  // namespace tapestry
