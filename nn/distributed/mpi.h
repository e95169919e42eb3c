// The processes started by mpirun. Only mpi.cpp uses MPI; it is a separate library (the target
// tapestry::mpi), so a program that does not use it is not linked with MPI.
#pragma once

#include <tapestry/nn/distributed/communicator.h>

#include <memory>

namespace tapestry {

/// Whether this program was built with MPI (CMake's TAPESTRY_MPI).
bool has_mpi();

/// All processes started together with this one; a OneProcess, without touching MPI, if it is the
/// only one. Call it once; MPI is finalised when the result is destroyed. Throws ValueError if
/// mpirun started several processes and this program was built without MPI, and if MPI itself fails
/// to start.
std::unique_ptr<Communicator> join_processes();

/// This process's rank under mpirun, from the environment only: 0 without mpirun.
int launched_rank();

/// Ends all processes at once with this exit code, for a process that cannot continue while others
/// wait for it. Does nothing for a single process.
void abort_processes(int code);

}  // namespace tapestry
