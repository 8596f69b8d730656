# How our own programs (tests, benchmarks, examples) are built. Nothing here reaches a user of allscan::allscan.

set(known_compiler OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  set(known_compiler ON)
endif()
# By default only for the compilers that the project is checked with: newer ones bring warnings of their own.
option(ALLSCAN_WERROR "Treat warnings in our own programs as errors" ${known_compiler})

add_library(allscan_strict INTERFACE)
target_compile_options(
  allscan_strict INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
                           $<$<BOOL:${ALLSCAN_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(allscan_strict INTERFACE -Wno-restrict) # false alarms on "text" + std::string: GCC bug 105651
endif()

# allscan_program(<target> SOURCES <file>... [LIBRARIES <target>...])
#
# An executable in the current build folder, so build/<preset>/{tests,bench,examples}/<target>, with strict warnings and
# with OpenMP where found.
function(allscan_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} allscan allscan_strict)
  if(ALLSCAN_HAS_OPENMP)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endfunction()
