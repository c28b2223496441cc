# find_package(isthmus): the target isthmus::isthmus, of the folder in which this file lies.
get_filename_component(isthmus_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET isthmus::isthmus)
  add_library(isthmus::isthmus SHARED IMPORTED)
  set_target_properties(isthmus::isthmus PROPERTIES IMPORTED_LOCATION "${isthmus_prefix}/lib/libisthmus.so"
                        IMPORTED_SONAME libisthmus.so INTERFACE_INCLUDE_DIRECTORIES "${isthmus_prefix}/include")
endif()
