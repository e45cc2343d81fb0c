# Bundles that are valid in every byte and say something else than was recorded; and claims that say something else.
# With sanitizers fewer of what is drawn or the same in kind, and in these no look for leaks: all changes of the catalogue
# are judged with it, and it takes a third of the time.
set(more_tamper_combined 500)
set(more_claims 1)
if(EXHIBIT_SANITIZE)
    set(more_tamper_combined 150)
    set(more_claims 3)
endif()
foreach(name tamper tamper_combined claims)
    add_test(NAME e2e.${name} COMMAND ${DEBIAN_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py ${CMAKE_BINARY_DIR}
        ${CMAKE_SOURCE_DIR} ${more_${name}})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 300 LABELS e2e FIXTURES_REQUIRED bundles)
endforeach()
set_tests_properties(e2e.tamper_combined e2e.claims PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)

# A recorder that is killed, or whose disk fails, at each step of writing. The faults come before the sanitizers' runtime.
add_library(fault SHARED subjects/fault.c)
target_link_libraries(fault PRIVATE exhibit_warnings)
target_compile_options(fault PRIVATE -fno-sanitize=all)
target_link_options(fault PRIVATE -fno-sanitize=all)
set_target_properties(fault PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
add_test(NAME e2e.crash
    COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/crash.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.crash PROPERTIES TIMEOUT 900 LABELS e2e)
