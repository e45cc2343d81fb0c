# Many bundles in one call, the reader's oracle, and the table of candidates.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(spread spread/spread.c spread/base.c)
target_link_libraries(spread PRIVATE exhibit_record exhibit_warnings)
target_link_options(spread PRIVATE -Wl,--wrap=fsync)
add_executable(lenient subjects/lenient.c)
target_link_libraries(lenient PRIVATE exhibit_warnings)
target_compile_options(lenient PRIVATE -fno-sanitize=all)
target_link_options(lenient PRIVATE -fno-sanitize=all)

# /usr/bin/python3 is the one that Debian's python3-zstandard and -protobuf are for.
add_test(NAME e2e.many COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/many.py ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.many PROPERTIES TIMEOUT 300 LABELS e2e)
add_test(NAME e2e.lax COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/lax.py ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.lax PROPERTIES TIMEOUT 180 LABELS e2e SKIP_RETURN_CODE 77)
add_test(NAME e2e.table COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/table.py ${CMAKE_BINARY_DIR}
    ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.table PROPERTIES TIMEOUT 120 LABELS e2e FIXTURES_REQUIRED bundles)
