# isthmus_layer(name SOURCES a.cpp … DEPENDS other …): one static library per layer of the core. A layer sees itself and
# what DEPENDS names; tests/py/test_layers.py reads the #include lines and holds the code to it.
function(isthmus_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target isthmus_${name})
  if(layer_SOURCES)
    list(TRANSFORM layer_SOURCES PREPEND ${name}/)
    add_library(${target} STATIC ${layer_SOURCES})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wpedantic
                           $<$<BOOL:${ISTHMUS_DEVELOPER}>:-Werror>)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/core)
  target_compile_definitions(${target} ${scope} ISTHMUS_ASSERT_LEVEL=${ISTHMUS_ASSERT_LEVEL})
  if(ISTHMUS_SANITIZE)
    # What is left out takes a third of the time to compile; a null pointer ends in the address sanitizer as well.
    target_compile_options(${target} ${scope} -fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} ${scope} -fsanitize=address,undefined)
  endif()
  foreach(dependency IN LISTS layer_DEPENDS)
    target_link_libraries(${target} ${scope} isthmus_${dependency})
  endforeach()
endfunction()
