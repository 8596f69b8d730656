# What allscan can use. AUTO uses what is found, ON insists, OFF does not look.
#
# ALLSCAN_MPI brings the target allscan::mpi. ALLSCAN_OPENMP concerns our own tests, benchmarks and examples alone. CUDA and
# NCCL are reported.

foreach(name MPI CUDA NCCL OPENMP)
  set(ALLSCAN_${name} AUTO CACHE STRING "Use ${name}: AUTO (if found), ON (required) or OFF")
  set_property(CACHE ALLSCAN_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ALLSCAN_${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "ALLSCAN_${name} is \"${ALLSCAN_${name}}\": pass AUTO, ON or OFF")
  endif()
  set(ALLSCAN_HAS_${name} FALSE)
endforeach()

# Records whether `name` was found and under what description; fails where it was required.
function(allscan_found name found description hint)
  if(found)
    set(ALLSCAN_HAS_${name} TRUE PARENT_SCOPE)
    set(ALLSCAN_ABOUT_${name} "${description}" PARENT_SCOPE)
  elseif(ALLSCAN_${name} STREQUAL "ON")
    message(FATAL_ERROR "ALLSCAN_${name} is ON, but it was not found: ${hint}")
  endif()
endfunction()

# GLOBAL: a project that adds this one as a subdirectory links these through our targets.
find_package(Threads REQUIRED GLOBAL)

if(NOT ALLSCAN_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX TRUE)  # the C interface alone: MPI-3 took the C++ one out
  find_package(MPI 3.1 QUIET COMPONENTS CXX GLOBAL)
  allscan_found(MPI "${MPI_CXX_FOUND}" "standard ${MPI_CXX_VERSION}, ${MPIEXEC_EXECUTABLE}"
                "install libopenmpi-dev and openmpi-bin, or pass -DMPI_HOME=<prefix>")
endif()

if(NOT ALLSCAN_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  allscan_found(CUDA "${CUDAToolkit_FOUND}" "${CUDAToolkit_VERSION}, ${CUDAToolkit_BIN_DIR}"
                "install the CUDA toolkit, or pass -DCUDAToolkit_ROOT=<prefix>")
endif()

if(NOT ALLSCAN_NCCL STREQUAL "OFF")
  find_path(NCCL_INCLUDE_DIR nccl.h)
  find_library(NCCL_LIBRARY nccl)
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  set(nccl_found FALSE)
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    set(nccl_found TRUE)
  endif()
  allscan_found(NCCL ${nccl_found} "${NCCL_LIBRARY}" "install libnccl-dev, or pass -DNCCL_INCLUDE_DIR and -DNCCL_LIBRARY")
endif()

if(NOT ALLSCAN_OPENMP STREQUAL "OFF" AND (ALLSCAN_TESTS OR ALLSCAN_BENCH OR ALLSCAN_EXAMPLES))
  find_package(OpenMP QUIET COMPONENTS CXX)
  allscan_found(OPENMP "${OpenMP_CXX_FOUND}" "${OpenMP_CXX_VERSION}" "use a compiler with OpenMP (clang: install libomp-dev)")
endif()

function(allscan_summary)
  message(STATUS "allscan ${PROJECT_VERSION} (${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE})")
  foreach(name MPI CUDA NCCL OPENMP)
    if(ALLSCAN_HAS_${name})
      message(STATUS "  ${name}: ${ALLSCAN_ABOUT_${name}}")
    elseif(ALLSCAN_${name} STREQUAL "OFF")
      message(STATUS "  ${name}: switched off")
    else()
      message(STATUS "  ${name}: not found")
    endif()
  endforeach()
  message(STATUS "  tests ${ALLSCAN_TESTS}, benchmarks ${ALLSCAN_BENCH}, examples ${ALLSCAN_EXAMPLES}")
endfunction()
