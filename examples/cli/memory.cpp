#include <tapestry/examples/cli/options.h>

#include <fstream>

namespace tapestry::cli {
namespace {

// MemAvailable of /proc/meminfo in bytes; infinite where there is no such file.
double available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    double kilobytes = 0;
    std::string unit;
    while (file >> name >> kilobytes >> unit) {
        if (name == "MemAvailable:") return 1024 * kilobytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::numeric_limits<double>::infinity();
}

}  // namespace

void check_memory(const GPTConfig& config, std::int64_t batch) {
    const double needed = training_bytes(config, batch);
    const double available = available_memory();
    require(needed <= available,
            "training this model would need about {:.1f} GB of memory, and {:.1f} GB are available; "
            "choose smaller --layers, --dim, --context or --batch",
            needed / 1e9, available / 1e9);
}

}  // namespace tapestry::cli
