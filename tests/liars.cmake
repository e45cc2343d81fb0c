# Lying launchers, bad plans and bad bundles, on the programs themselves. The liar derives nonces as the probe does.
add_executable(liar subjects/liar.c subjects/liar_marks.c subjects/liar_parts.c subjects/liar_rows.c)
target_include_directories(liar PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(liar PRIVATE exhibit_probe_tested exhibit_warnings)

add_library(fail_malloc SHARED subjects/fail_malloc.c)
target_link_libraries(fail_malloc PRIVATE exhibit_warnings)
target_compile_options(fail_malloc PRIVATE -fno-sanitize=all)
target_link_options(fail_malloc PRIVATE -fno-sanitize=all)
set_target_properties(fail_malloc PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

foreach(name liars bad_input bad_bundles)
    add_test(NAME e2e.${name} COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py
        ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 300 LABELS e2e)
endforeach()
