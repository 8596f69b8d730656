# Whatever gla_lm cannot use, it says in one line, and fails.
#
#   cmake -DFOLDER=<for files> -DTEXT=<a text of some hundred bytes> -DRANKS=<how many it runs on> -P lm_bad_input.cmake
#         -- <how to launch gla_lm>...

include(${CMAKE_CURRENT_LIST_DIR}/launch.cmake)
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/empty "")
file(WRITE ${FOLDER}/one "a")

# refused("<regular expression>" <argument>...)
function(refused sentence)
  execute_process(
    COMMAND ${program} ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors)
  if(NOT status EQUAL 1)
    message(SEND_ERROR "${ARGN}: exit status ${status}, not 1")
  endif()
  if(output MATCHES "loss")
    message(SEND_ERROR "${ARGN}: results on standard output: ${output}")
  endif()
  string(REGEX MATCHALL "gla_lm: [^\n]*\n" lines "${errors}") # mpirun adds lines of its own
  list(LENGTH lines count)
  if(NOT count EQUAL 1 OR NOT lines MATCHES "${sentence}")
    message(SEND_ERROR "${ARGN}: not one line with \"${sentence}\": ${errors}")
  endif()
endfunction()

refused("unknown argument" --layers 3)
refused("--tokens needs a value" --tokens)
refused("--tokens takes a whole number" --tokens 0)
refused("--steps takes a whole number" --steps many)
refused("--seed takes a whole number" --seed -1)
refused("--ranks takes a whole number" --ranks 0)
refused("--precision takes float or double" --precision half)
refused("cannot read .*/nowhere" --text ${FOLDER}/nowhere)
refused("cannot read" --text ${FOLDER})
refused("has 0 bytes" --text ${FOLDER}/empty)
refused("has 1 bytes" --text ${FOLDER}/one --tokens 1)
refused("pass a longer text or fewer tokens" --text ${TEXT} --tokens 1000000)
refused("${RANKS} ranks cannot share 1 tokens" --text ${TEXT} --tokens 1)
refused("cannot write" --text ${TEXT} --tokens 64 --csv ${FOLDER}/no/such/folder.csv)
refused("cannot write" --text ${TEXT} --tokens 64 --json ${FOLDER}/no/such/folder.json)
