# The store: its folder, its table of inputs, and what writers and readers of it do.
exhibit_unit_test(store pack_fixture)
exhibit_unit_test(store_inputs pack_fixture)
exhibit_unit_test(store_check exhibit_record pack_fixture)
target_link_options(test_store_check PRIVATE -Wl,--wrap=pread64 -Wl,--wrap=sched_getaffinity)
add_test(NAME e2e.store
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/store.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.store PROPERTIES TIMEOUT 180 LABELS e2e)
