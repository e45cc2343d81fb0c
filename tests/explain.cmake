# What exhibit-replay --explain prints is followed to the bytes of the file, without any of our code.
add_test(NAME e2e.explain # Debian's python3, which has zstandard and protobuf: for the tool that changes bundles
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/explain.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.explain PROPERTIES TIMEOUT 120 LABELS e2e FIXTURES_REQUIRED bundles)
exhibit_unit_test(pack_where exhibit_formats PkgConfig::ZSTD)
