// tapestry info: how this binary was built, and the machine it runs on.
#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/ops/fusion.h>

#include <fmt/core.h>

namespace tapestry::cli {
namespace {

int print_info() {
    std::string others;
    for (const Isa isa : available_isas()) {
        if (isa != current_isa())
            others += fmt::format("{}{}", others.empty() ? "" : ", ", name_of(isa));
    }
    print("tapestry {}\n", version());
    print("instruction set  {}{}\n", name_of(current_isa()),
          others.empty() ? "" : " (also here: " + others + "; TAPESTRY_ISA chooses)");
    print("threads          {} (TAPESTRY_THREADS sets)\n", num_threads());
    print("fused ops        {} (TAPESTRY_FUSE=0: the plain ones)\n",
          fusion_enabled() ? "yes" : "no");
    print("compiler         {}\n", compiler());
    return kSuccess;
}

}  // namespace

void add_info(Options& app) {
    app.subcommand("info", "Version, instruction set, threads, compiler").run(print_info);
}

}  // namespace tapestry::cli
