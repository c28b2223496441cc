# find_package(isthmus): the target isthmus::isthmus, of the folder in which this file lies; where the project has
# Fortran, isthmus::fortran too, the module isthmus_pgas as its compiler makes it.
get_filename_component(isthmus_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET isthmus::isthmus)
  add_library(isthmus::isthmus SHARED IMPORTED)
  set_target_properties(isthmus::isthmus PROPERTIES IMPORTED_LOCATION "${isthmus_prefix}/lib/libisthmus.so"
                        IMPORTED_SONAME libisthmus.so INTERFACE_INCLUDE_DIRECTORIES "${isthmus_prefix}/include")
endif()

get_property(isthmus_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("Fortran" IN_LIST isthmus_languages AND NOT TARGET isthmus_fortran)
  add_library(isthmus_fortran STATIC "${isthmus_prefix}/include/isthmus/isthmus_pgas.f90")
  set_target_properties(isthmus_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${CMAKE_BINARY_DIR}/isthmus_fortran")
  target_include_directories(isthmus_fortran INTERFACE "${CMAKE_BINARY_DIR}/isthmus_fortran")
  target_link_libraries(isthmus_fortran PUBLIC isthmus::isthmus)
  add_library(isthmus::fortran ALIAS isthmus_fortran)
endif()
