# A short run that learns, verifies itself and writes its results.
#
#   cmake -DFOLDER=<for the results> -DTEXT=<what to learn> -DPRECISION=<float or double> -DRANKS=<how many it runs on>
#         -P lm_results.cmake -- <how to launch gla_lm>...

include(${CMAKE_CURRENT_LIST_DIR}/launch.cmake)
file(MAKE_DIRECTORY ${FOLDER})
set(steps 25)
execute_process(
  COMMAND ${program} --text ${TEXT} --tokens 256 --steps ${steps} --precision ${PRECISION} --verify --csv ${FOLDER}/curve.csv
          --json ${FOLDER}/results.json
  RESULT_VARIABLE status
  OUTPUT_VARIABLE table
  ERROR_VARIABLE progress)
message("${progress}${table}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "exit status ${status}")
endif()

file(STRINGS ${FOLDER}/curve.csv curve)
list(LENGTH curve lines)
math(EXPR expected_lines "${steps} + 1")
if(NOT lines EQUAL expected_lines)
  message(FATAL_ERROR "the loss curve has ${lines} lines, not ${expected_lines}")
endif()

file(READ ${FOLDER}/results.json results)
foreach(name ranks loss loss_at_start loss_at_end conditional_entropy bytes_sent allgather_bytes)
  string(JSON ${name} GET "${results}" ${name})
endforeach()
string(JSON losses LENGTH "${results}" loss)
string(JSON passes GET "${results}" verification passes)
if(NOT ranks EQUAL RANKS OR NOT losses EQUAL steps OR NOT passes)
  message(FATAL_ERROR "${ranks} ranks, ${losses} losses, passes: ${passes}")
endif()
if(NOT loss_at_end LESS loss_at_start)
  message(FATAL_ERROR "the loss went from ${loss_at_start} to ${loss_at_end}")
endif()
# Two scans a block and step, of a state of 4 x 16 x 16 numbers; the last rank of a direction sends nothing.
if(RANKS GREATER 1 AND NOT bytes_sent LESS_EQUAL allgather_bytes)
  message(FATAL_ERROR "sent ${bytes_sent}, an all-gather ${allgather_bytes}")
endif()
