exhibit_unit_test(proc exhibit_record)
exhibit_unit_test(executables exhibit_record)
exhibit_unit_test(members exhibit_record)
exhibit_unit_test(lineage exhibit_record)
exhibit_unit_test(spawn exhibit_record)
exhibit_unit_test(process_events exhibit_record)
exhibit_unit_test(trace exhibit_record)

add_executable(strip-claim e2e/strip_claim.c)
target_link_libraries(strip-claim PRIVATE exhibit_formats exhibit_warnings)

add_executable(rejudge e2e/rejudge.c)
target_link_libraries(rejudge PRIVATE exhibit_record exhibit_warnings)

# One set of recordings serves all tests that look at whole bundles. Debian's python3 has what the fourth judge needs.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME e2e.bundles
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/bundles.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.bundles PROPERTIES TIMEOUT 300 LABELS e2e FIXTURES_SETUP bundles)
add_test(NAME e2e.decisions
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/decisions.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.decisions PROPERTIES TIMEOUT 120 LABELS e2e FIXTURES_REQUIRED bundles)
add_test(NAME e2e.flooded
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/flooded.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.flooded PROPERTIES TIMEOUT 180 LABELS e2e)
exhibit_unit_test(spool exhibit_record)
add_test(NAME e2e.late_output
    COMMAND ${DEBIAN_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/late_output.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.late_output PROPERTIES TIMEOUT 240 LABELS e2e)
