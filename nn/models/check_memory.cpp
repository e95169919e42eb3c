#include <tapestry/nn/models/check_memory.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace tapestry {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// MemAvailable of /proc/meminfo in bytes; unlimited where there is no such file.
double system_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    double kilobytes = 0;
    std::string unit;
    while (file >> name >> kilobytes >> unit) {
        if (name == "MemAvailable:") return 1024 * kilobytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return kUnlimited;
}

// What a container may take; beyond it the kernel kills. Version 2 of cgroups says "max" or bytes,
// version 1 bytes.
double container_memory() {
    double least = kUnlimited;
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        double bytes = 0;
        if (file >> bytes) least = std::min(least, bytes);
    }
    return least;
}

}  // namespace

void check_memory(const GPTConfig& config, std::int64_t batch, std::int64_t gradient_sets) {
    const double needed = training_bytes(config, batch, gradient_sets);
    const double available = std::min(system_memory(), container_memory());
    require(
        needed <= available,
        "training this model would need about {:.1f} GB of memory, and {:.1f} GB are available; "
        "choose smaller --layers, --dim, --context or --batch",
        needed / 1e9, available / 1e9);
}

}  // namespace tapestry
