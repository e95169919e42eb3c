// A training of several processes, from its beginning: what they have to agree on before the first
// step, and who tells whom. Process 0 has the directory, and begins as one process does; the others
// need the data alone, from a disk of their own or a shared one.
//
//     BegunRun begun = begin_shared_run(*processes, request);
//     processes->rank() == 0 ? TrainingRun(*begun.session, *begun.directory, {}).to_the_end()
//                            : begun.session->follow();
//
// Read next: docs/distributed.md; session.h, share_among().
#pragma once

#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/train/begin_run.h>

namespace tapestry {

/// What cannot be, and why; all processes throw it at the same moment, with the same message.
class AgreedError : public ValueError {
public:
    using ValueError::ValueError;
};

/// As begin_run(), in all of the processes; the directory is process 0's alone. Throws AgreedError
/// for whatever any of them would throw; for processes that differ in version, instruction set
/// (unless `overrides` has "isa"), configuration or data, with both values; and for more processes
/// than micro-batches.
BegunRun begin_shared_run(Communicator& communicator, const RunRequest& request,
                          const TextCache* cache = nullptr,
                          const std::function<void(const std::string&)>& told = {});

/// Session::accounts(), in a line each.
std::string processes_text(const std::vector<ProcessAccount>& processes);

}  // namespace tapestry
