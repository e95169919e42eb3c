// What one of the processes that share a training has done, and what that took. Read next:
// nn/train/session.h, who counts; nn/pages/report.h, which shows it.
#pragma once

#include <string>

namespace tapestry {

struct ProcessAccount {
    std::string host = {};
    double threads = 0;
    double tokens = 0;         ///< whose gradients it has computed
    double flops = 0;          ///< of these gradients' products (step_flops)
    double seconds = 0;        ///< since its first step began
    double waiting = 0;        ///< seconds of these that it sat in messages
    double travel = 0;         ///< seconds in which gradients were under way
    double travel_waited = 0;  ///< of these: it sat and waited; the rest the backward pass hid
    double bytes_sent = 0;     ///< in all
    double moment_bytes = 0;   ///< what the optimiser's moments take there

    double tokens_per_second() const { return seconds > 0 ? tokens / seconds : 0; }
    /// Of the time.
    double waiting_share() const { return seconds > 0 ? waiting / seconds : 0; }
    /// Of the gradients' time under way.
    double hidden_share() const { return travel > 0 ? 1 - travel_waited / travel : 0; }
};

}  // namespace tapestry
