// Several processes that take the steps of a session together, with the bits of one
// (nn/data_parallel). Each has a session of the same configuration:
//
//     Session session(config);
//     SharedSession shared(session, communicator);
//     if (communicator.rank() != 0) return shared.follow();
//     while (!session.is_finished()) session.take_step();
//     shared.dismiss();
//
// Process 0 leads: it broadcasts each command as a number, and the others wait for it between
// steps, so code that uses process 0's session to save, sample or pause need not know of them.
// Read next: begin_run.h, which starts a run this way; docs/distributed.md.
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/train/session.h>

#include <cstdint>
#include <vector>

namespace tapestry {

class DataParallel;

/// The processes of a session. See above.
class SharedSession {
public:
    /// Call on every rank. Weights, moments and random numbers become process 0's. Does nothing for
    /// a single process. Both arguments must outlive it, and the session takes no steps after it.
    /// Throws ValueError as TrainStep does; the session is then unusable.
    SharedSession(Session& session, Communicator& communicator);
    ~SharedSession();
    SharedSession(const SharedSession&) = delete;
    SharedSession& operator=(const SharedSession&) = delete;

    /// Does what process 0's session does, until dismissed. Returns at once for a single process.
    /// Throws DivergedError if process 0 does.
    void follow();
    /// Ends the others' follow(). Only process 0's call has an effect.
    void dismiss();

private:
    friend class Session;  // calls the next five
    StepMetrics take_step();
    void before_update();
    void collect_state();
    double evaluate();
    std::vector<ProcessAccount> accounts();

    bool leads() const { return communicator_.size() > 1 && communicator_.rank() == 0; }
    void lead(std::uint64_t command);
    std::uint64_t next_command();
    StepMetrics take_own_step();
    ProcessAccount own_account();
    std::vector<ProcessAccount> gather_accounts();
    DataParallel& parallel();

    Session& session_;
    Communicator& communicator_;
    bool collects_gradients_ = false;  // in this step
    double waited_before_ = 0;         // seconds in messages, before the first step
};

}  // namespace tapestry
