# SPDX-License-Identifier: Apache-2.0

# Refuses a cache variable (a list, by ";" or ",") with a word that is none of those allowed. Empty
# is allowed.
function(mluops_check_choices variable)
  string(REPLACE "," ";" words "${${variable}}")
  foreach(word IN LISTS words)
    if(NOT word IN_LIST ARGN)
      list(JOIN ARGN ", " allowed)
      message(FATAL_ERROR "${variable}: ${word} given, expected ${allowed}")
    endif()
  endforeach()
endfunction()
