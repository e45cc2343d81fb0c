# What leaves a store, and what of it is dropped.
exhibit_unit_test(needs exhibit_record pack_fixture)

# Recordings without trials: no fact of theirs rests on a quiet core.
add_test(NAME e2e.store_export
    COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/store_export.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.store_export PROPERTIES TIMEOUT 300 LABELS e2e)

# As e2e.crash: faults in prune, in recording into a store, and in making one.
add_test(NAME e2e.store_crash
    COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/store_crash.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.store_crash PROPERTIES TIMEOUT 300 LABELS e2e)
