// The processes that mpirun has started. The one room that knows of MPI is mpi.cpp, a library of
// its own (the target tapestry::mpi), so that a program that never asks for it is not linked with
// it.
#pragma once

#include <tapestry/nn/distributed/communicator.h>

#include <memory>

namespace tapestry {

/// Was this program built with MPI? CMake's TAPESTRY_MPI.
bool has_mpi();

/// All processes that this one was started with; of one alone a OneProcess, and MPI is not touched.
/// To be called once; MPI ends with the result. Throws ValueError where mpirun has started several
/// and this program was built without MPI, and where MPI itself does not start.
std::unique_ptr<Communicator> join_processes();

/// This process among those that mpirun has started, by its environment alone: 0 without mpirun.
int launched_rank();

/// Ends all processes at once with this exit code: for one that goes no further while others wait
/// for it. Does nothing unless there are several.
void abort_processes(int code);

}  // namespace tapestry
