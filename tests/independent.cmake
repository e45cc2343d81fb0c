# A fourth judge, in another language, written from the documents alone: it must agree with the three.
set(independent ${CMAKE_CURRENT_SOURCE_DIR}/independent)
set(debian_python /usr/bin/python3) # the one that Debian's python3-zstandard, -protobuf and -yaml are for

add_test(NAME independent.unit COMMAND ${debian_python} -B ${independent}/test_independent.py)
add_test(NAME independent.shows COMMAND ${debian_python} -B ${independent}/test_shows.py)
set_tests_properties(independent.unit independent.shows PROPERTIES TIMEOUT 60 LABELS unit)
add_test(NAME e2e.golden
    COMMAND ${debian_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/golden.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.golden PROPERTIES TIMEOUT 60 LABELS e2e)
add_test(NAME independent.bundles
    COMMAND ${debian_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/independent.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(independent.bundles PROPERTIES TIMEOUT 300 LABELS e2e FIXTURES_REQUIRED bundles)
