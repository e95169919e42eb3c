# MPI, for runs with several processes (docs/distributed.md): one source, nn/distributed/mpi.cpp, as
# a separate library, linked only on request. Without MPI it still exists, and reports that when
# started by mpirun. MPI_CXX_COMPILER (mpicxx.openmpi, mpicxx.mpich) selects Open MPI or MPICH.
set(TAPESTRY_MPI AUTO CACHE STRING "Trainings of several processes, by MPI: ON, OFF, or AUTO: if it is there")
set_property(CACHE TAPESTRY_MPI PROPERTY STRINGS ON OFF AUTO)

set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings that MPI 3 has removed
if(TAPESTRY_MPI STREQUAL AUTO)
  find_package(MPI COMPONENTS CXX QUIET)
elseif(TAPESTRY_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

tapestry_add_on(tapestry_mpi nn/distributed/mpi.cpp)
add_library(tapestry::mpi ALIAS tapestry_mpi)
if(TAPESTRY_MPI AND MPI_CXX_FOUND)
  set(TAPESTRY_MPI_LIBRARIES MPI::MPI_CXX)  # for those who are linked with the objects
  target_compile_definitions(tapestry_mpi_objects PRIVATE TAPESTRY_WITH_MPI)
  target_link_libraries(tapestry_mpi_objects PRIVATE MPI::MPI_CXX)
  target_link_libraries(tapestry_mpi PRIVATE MPI::MPI_CXX)
endif()
