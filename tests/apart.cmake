# What is kept apart: secrets and local inputs.
exhibit_unit_test(needles exhibit_record)
exhibit_unit_test(leaks exhibit_record)
exhibit_unit_test(leak_check exhibit_record)
add_test(NAME e2e.secret_values
    COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/secret_values.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.secret_values PROPERTIES TIMEOUT 240 LABELS e2e)
add_test(NAME e2e.local_inputs
    COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/local_inputs.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.local_inputs PROPERTIES TIMEOUT 240 LABELS e2e)
