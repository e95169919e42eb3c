# Sourced by tests that call mpirun. Open MPI requires confirmation for running as root and with
# more processes than cores (since version 5 by PRRTE's variable); MPICH ignores it.
# shellcheck shell=bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_abort_print_stack=0

# mpirun_of BUILD_DIR: the mpirun of the build's MPI, next to the compiler wrapper that found it
# (mpicxx.mpich, mpirun.mpich); nothing without MPI.
mpirun_of() {
    local found
    grep -qE '^TAPESTRY_MPI:.*=(ON|AUTO)' "$1/CMakeCache.txt" || return 0
    found=$(sed -n 's/^MPI_CXX_COMPILER:[^=]*=//p' "$1/CMakeCache.txt")
    found=${found/mpicxx/mpirun}
    if [[ -x $found ]]; then echo "$found"; fi
}
