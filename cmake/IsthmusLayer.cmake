# isthmus_layer(name SOURCES a.cpp … DEPENDS other …): one static library per layer of the core. A layer sees itself and
# what DEPENDS names; tests/py/test_layers.py reads the #include lines and holds the code to it.
function(isthmus_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;DEPENDS" ${ARGN})
  set(target isthmus_${ISTHMUS_LAYER_PREFIX}${name})
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
  if(ISTHMUS_LAYER_PREFIX)
    target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  endif()
  target_compile_definitions(${target} ${scope} ISTHMUS_ASSERT_LEVEL=${ISTHMUS_ASSERT_LEVEL})
  if(ISTHMUS_SANITIZE)
    # The core is checked for all; to check the tests themselves for these would take half as long again to compile.
    target_compile_options(${target} ${scope} -fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(layer_SOURCES)
      target_compile_options(${target} PRIVATE -fsanitize=null,alignment,vptr,object-size)
    endif()
    target_link_options(${target} ${scope} -fsanitize=address,undefined)
  endif()
  if(ISTHMUS_THREAD_SANITIZER)
    target_compile_options(${target} ${scope} -fsanitize=thread)
    target_link_options(${target} ${scope} -fsanitize=thread)
    target_compile_definitions(${target} ${scope} ISTHMUS_DELAYS)
  endif()
  if(layer_SOURCES)
    isthmus_precompiled(${target})
  endif()
  foreach(dependency IN LISTS layer_DEPENDS)
    target_link_libraries(${target} ${scope} isthmus_${dependency})
  endforeach()
endfunction()

set(ISTHMUS_STANDARD_HEADERS
    <algorithm> <array> <bit> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional> <queue> <set>
    <span> <string> <string_view> <tuple> <unordered_map> <utility> <vector>)
# isthmus_precompiled(target): the headers of the standard library are read once for all layers, which have the same
# options: a quarter of the time to compile. The preset release-tests, which the linters use, does without: there every
# file has to include what it uses.
function(isthmus_precompiled target)
  get_property(first GLOBAL PROPERTY ISTHMUS_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ISTHMUS_STANDARD_HEADERS})
    set_property(GLOBAL PROPERTY ISTHMUS_PRECOMPILED ${target})
  endif()
endfunction()
