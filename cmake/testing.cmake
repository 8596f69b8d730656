# How tests are registered. A test of include/allscan/<layer>/<name>.hpp is tests/<layer>/<name>_test.cpp; its program is
# build/<preset>/tests/<layer>_<name>_test and its CTest name is <layer>/<name>, labelled <layer>. Tests include helpers as
# <support/...> and find files of the tree below the macro ALLSCAN_SOURCE_DIR.
#
# The target <layer>_tests builds a layer's test programs. The everyday run is `ctest -LE nightly`: it leaves out the
# GoogleTest cases whose full name contains "nightly".

if(POLICY CMP0174) # an argument passed on empty is one left out
  cmake_policy(SET CMP0174 NEW)
endif()

set(ALLSCAN_TIMEOUT_FACTOR 1 CACHE STRING "Multiplies every test's time limit (sanitizers are slow)")

# Ranks may be many more than the cores; libgomp's threads must not spin meanwhile.
set(test_environment OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2)
set(mpi_test_environment
    ASAN_OPTIONS=detect_leaks=0 # Open MPI leaks on its own
    GTEST_COLOR=no # mpirun's ranks write to terminals
    OMP_NUM_THREADS=1
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid process_vm_readv
    OMPI_MCA_hwloc_base_binding_policy=none # else every one of several mpiruns binds its ranks to the same cores
    OMPI_MCA_mpi_yield_when_idle=1)

# Open MPI refuses more ranks than cores unless told; others have no such flag.
set(mpi_test_flags)
if(ALLSCAN_HAS_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version ERROR_QUIET)
  if(mpiexec_version MATCHES "Open MPI|OpenRTE|open-mpi")
    set(mpi_test_flags --oversubscribe)
  endif()
endif()

# allscan_add_ctest(<CTest name> COMMAND ... LABELS ... [TIMEOUT s] [PROCESSORS n] [ENVIRONMENT ...])
function(allscan_add_ctest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROCESSORS" "COMMAND;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${ALLSCAN_TIMEOUT_FACTOR}")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name}
    PROPERTIES TIMEOUT ${timeout}
               PROCESSORS ${arg_PROCESSORS}
               LABELS "${arg_LABELS}"
               ENVIRONMENT "${arg_ENVIRONMENT}"
               # Skipped is a program whose every case was skipped: its output ends with the list of them.
               SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\] [^\n]*\n)+$")
endfunction()

function(allscan_test_program target path main)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;LIBRARIES")
  allscan_program(
    ${target}
    SOURCES ${PROJECT_SOURCE_DIR}/tests/${path}_test.cpp ${arg_SOURCES}
    LIBRARIES ${arg_LIBRARIES} ${main})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE ALLSCAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

  string(REGEX REPLACE "/.*" "_tests" layer_target ${path})
  if(NOT TARGET ${layer_target})
    add_custom_target(${layer_target})
  endif()
  add_dependencies(${layer_target} ${target})
endfunction()

# allscan_test(<layer>/<name> [NIGHTLY] [TIMEOUT s] [PROCESSORS n] [SOURCES file...] [LIBRARIES target...])
#
# NIGHTLY adds a second CTest, <layer>/<name>.nightly, of the cases named "nightly". Layers whose tests run ranks as threads
# count as two processors.
function(allscan_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NIGHTLY" "TIMEOUT;PROCESSORS" "SOURCES;LIBRARIES")
  string(REGEX REPLACE "/.*" "" layer ${path})
  string(REPLACE "/" "_" target ${path}_test)
  allscan_test_program(${target} ${path} GTest::gtest_main SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  if(NOT arg_PROCESSORS AND layer MATCHES "^(transport|collective|kernel|ops)$")
    set(arg_PROCESSORS 2)
  endif()
  allscan_add_ctest(
    ${path}
    COMMAND ${target} --gtest_filter=-*nightly*
    LABELS ${layer}
    TIMEOUT ${arg_TIMEOUT}
    PROCESSORS ${arg_PROCESSORS}
    ENVIRONMENT ${test_environment})
  if(arg_NIGHTLY)
    allscan_add_ctest(
      ${path}.nightly
      COMMAND ${target} --gtest_filter=*nightly*
      LABELS ${layer} nightly
      TIMEOUT 3600
      PROCESSORS ${arg_PROCESSORS}
      ENVIRONMENT ${test_environment})
  endif()
endfunction()

# allscan_mpi_test(<layer>/<name> RANKS 1 2 3 8 [NIGHTLY] [TIMEOUT s] [SOURCES file...] [LIBRARIES target...] [MAIN target])
#
# One CTest for each count of ranks, <layer>/<name>.ranks<n>, labelled mpi too. Without MPI, none. MAIN replaces the main()
# of tests/support/mpi_main.cpp, which initialises MPI.
function(allscan_mpi_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NIGHTLY" "TIMEOUT;MAIN" "RANKS;SOURCES;LIBRARIES")
  if(NOT ALLSCAN_HAS_MPI)
    return()
  endif()
  if(NOT arg_MAIN)
    set(arg_MAIN allscan_mpi_test_main)
  endif()
  string(REGEX REPLACE "/.*" "" layer ${path})
  string(REPLACE "/" "_" target ${path}_test)
  allscan_test_program(${target} ${path} ${arg_MAIN} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} allscan_mpi)
  foreach(ranks IN LISTS arg_RANKS)
    set(launch ${MPIEXEC_EXECUTABLE} ${mpi_test_flags} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}>)
    allscan_add_ctest(
      ${path}.ranks${ranks}
      COMMAND ${launch} --gtest_filter=-*nightly*
      LABELS ${layer} mpi
      TIMEOUT ${arg_TIMEOUT}
      PROCESSORS ${ranks}
      ENVIRONMENT ${mpi_test_environment})
    if(arg_NIGHTLY)
      allscan_add_ctest(
        ${path}.ranks${ranks}.nightly
        COMMAND ${launch} --gtest_filter=*nightly*
        LABELS ${layer} mpi nightly
        TIMEOUT 3600
        PROCESSORS ${ranks}
        ENVIRONMENT ${mpi_test_environment})
    endif()
  endforeach()
endfunction()

# allscan_compile_fail(<layer>/<name> <case> "<regular expression>")
#
# tests/<layer>/<name>_compile_fail.cpp must compile as it is, and with -D<case> fail with an error that holds the sentence.
function(allscan_compile_fail path case sentence)
  string(REGEX REPLACE "/.*" "" layer ${path})
  set(compile ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -fmessage-length=0 -I${PROJECT_SOURCE_DIR}/include
              -I${PROJECT_SOURCE_DIR}/tests)
  set(source ${PROJECT_SOURCE_DIR}/tests/${path}_compile_fail.cpp)
  if(NOT TEST ${path}.compiles)
    allscan_add_ctest(${path}.compiles COMMAND ${compile} ${source} LABELS ${layer} ENVIRONMENT LC_ALL=C)
  endif()
  allscan_add_ctest(${path}.${case} COMMAND ${compile} -D${case} ${source} LABELS ${layer} ENVIRONMENT LC_ALL=C)
  set_tests_properties(${path}.${case} PROPERTIES PASS_REGULAR_EXPRESSION "error: [^\n]*${sentence}")
endfunction()

# allscan_script_test(<layer>/<name> SCRIPT <file> [DEFINITIONS <NAME=value>...]): a CMake script that fails with FATAL_ERROR.
function(allscan_script_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT" "DEFINITIONS")
  string(REGEX REPLACE "/.*" "" layer ${path})
  list(TRANSFORM arg_DEFINITIONS PREPEND -D)
  allscan_add_ctest(${path} COMMAND ${CMAKE_COMMAND} ${arg_DEFINITIONS} -P ${arg_SCRIPT} LABELS ${layer})
endfunction()
