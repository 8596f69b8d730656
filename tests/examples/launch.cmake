# program: what follows "--" on the command line.
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(own_arguments_ended)
    list(APPEND program ${CMAKE_ARGV${i}})
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(own_arguments_ended ON)
  endif()
endforeach()
