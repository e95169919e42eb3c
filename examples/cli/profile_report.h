// What `tapestry profile` has found, as text and as JSON. The rows are those of the fastest step,
// which was disturbed least: a mean over steps would add up whatever else the machine had to do.
#pragma once

#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/nn/models/gpt.h>

#include <string>
#include <vector>

namespace tapestry::cli {

struct ProfileReport {
    std::string what;
    GPTConfig config;
    std::int64_t batch = 0;
    std::int64_t parameters = 0;
    int depth = 0;  ///< of the modules' paths
    MachinePeak peak;
    std::vector<double> step_seconds = {};  ///< of every step
    std::size_t peak_bytes = 0;
    std::vector<ProfileRow> rows = {};     ///< of the fastest step
    std::vector<ProfileRow> outside = {};  ///< of the same, outside of the tape
};

std::string to_string(const ProfileReport& report);
std::string to_json(const ProfileReport& report);

}  // namespace tapestry::cli
