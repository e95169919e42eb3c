// Replaces ops/machine_peak.cpp: the linker extracts a member of the library only for symbols that
// are still undefined. Otherwise most of a run's time would go into measuring the machine.
#include <tapestry/ops/machine_peak.h>

namespace tapestry {

double measure_flops(DType, double) { return 1e9; }
MachinePeak measure_peak(DType) { return {}; }
double measure_reading(std::size_t) { return 1e9; }

}  // namespace tapestry
