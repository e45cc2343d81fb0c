# Endings, each with candidates that end nobody and one that ends all. The fourth judge needs Debian's Python.
add_test(NAME e2e.lifetimes
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/lifetimes.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
add_test(NAME e2e.lifetimes_shipped COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/lifetimes.py
    ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} shipped)
set_tests_properties(e2e.lifetimes e2e.lifetimes_shipped PROPERTIES TIMEOUT 180 LABELS e2e)

# Records nothing.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME e2e.check
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/check.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.check PROPERTIES TIMEOUT 180 LABELS e2e)
