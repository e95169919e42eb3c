# Sourced by tests that call mpirun. Open MPI asks to be told that root and more processes than cores are
# meant; MPICH does not listen.
# shellcheck shell=bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_abort_print_stack=0

# mpirun_of BUILD_DIR: the mpirun of the MPI that a build was made with, beside the compiler that it was
# found by (mpicxx.mpich, mpirun.mpich); nothing without one.
mpirun_of() {
    local found
    grep -qE '^TAPESTRY_MPI:.*=(ON|AUTO)' "$1/CMakeCache.txt" || return 0
    found=$(sed -n 's/^MPI_CXX_COMPILER:[^=]*=//p' "$1/CMakeCache.txt")
    found=${found/mpicxx/mpirun}
    if [[ -x $found ]]; then echo "$found"; fi
}
