// One or several processes, using the package's component mpi: each receives from all.
#include <fmt/core.h>
#include <tapestry/nn/distributed/mpi.h>

int main() {
    using namespace tapestry;
    const auto processes = join_processes();
    const auto names =
        all_gather(*processes, fmt::format("process {}", processes->rank()), "names");
    bool right = static_cast<int>(names.size()) == processes->size();
    for (std::size_t p = 0; p < names.size(); ++p)
        right &= names[p] == fmt::format("process {}", p);
    if (processes->rank() == 0) fmt::print("{} processes\n", names.size());
    return right ? 0 : 1;
}
