#include <tapestry/examples/cli/run_together.h>

#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/distributed/mpi.h>
#include <tapestry/nn/train/shared_run.h>

#include <fmt/core.h>

#include <exception>

namespace tapestry::cli {
namespace {

// The others wait for process 0 between its steps, which is where these errors find it.
int lead_others(TrainSettings& s, BegunRun& begun, int (*lead)(TrainSettings&, BegunRun&)) {
    try {
        const int code = lead(s, begun);
        say(processes_text(begun.session->accounts()));
        begun.session->dismiss();
        return code;
    } catch (const DivergedError&) {
        begun.session->dismiss();
        throw;
    } catch (const IoError& error) {
        begun.session->dismiss();
        throw AgreedError(error.what());
    }
}

int run_all(TrainSettings& s, Communicator& processes, const TextCache* cache,
            int (*lead)(TrainSettings&, BegunRun&)) {
    require<AgreedError>(!s.options.trap_nan,
                         "--trap-nan records the steps of one process; train without mpirun");
    BegunRun begun =
        begin_shared_run(processes, s.run, cache, [](const std::string& text) { say(text); });
    if (processes.rank() == 0) return lead_others(s, begun, lead);
    catch_interrupts();  // they are process 0's to obey
    begun.session->follow();
    return kSuccess;
}

}  // namespace

// An error that all have is process 0's to tell, with its exit code: if another ended with one,
// mpirun would end process 0 before it has spoken. An error that a process has alone ends the
// others, who would wait for it.
int run_together(TrainSettings& s, Communicator& processes, const TextCache* cache,
                 int (*lead)(TrainSettings&, BegunRun&)) {
    const bool leads = processes.rank() == 0;
    try {
        return run_all(s, processes, cache, lead);
    } catch (const AgreedError&) {
        if (leads) throw;
        return kSuccess;
    } catch (const DivergedError&) {
        if (leads) throw;
        return kSuccess;
    } catch (const std::exception& error) {
        warn(fmt::format("process {} on {}: {}", processes.rank(), processes.host(), error.what()));
        abort_processes(kFailure);
        return kFailure;
    }
}

}  // namespace tapestry::cli
