# Every bit counts: damaged bundles, in one process.
exhibit_unit_test(damage exhibit_verify pack_fixture PkgConfig::ZSTD)
exhibit_unit_test(damage_large exhibit_verify pack_fixture)
set_tests_properties(unit.damage unit.damage_large PROPERTIES TIMEOUT 600)
# Some 80,000 verdicts in one process: to give memory back after each and ask for it again took five sixths of the time.
set(kept_memory arena_max=1 mmap_threshold=268435456 trim_threshold=1073741824)
list(TRANSFORM kept_memory PREPEND glibc.malloc.)
list(JOIN kept_memory ":" kept_memory)
set_tests_properties(unit.damage PROPERTIES ENVIRONMENT GLIBC_TUNABLES=${kept_memory})

# Bundles that ask for endless work, made from a recorded one.
add_test(NAME e2e.bombs
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/bombs.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.bombs PROPERTIES TIMEOUT 300 LABELS e2e FIXTURES_REQUIRED bundles)

# What the kernel saw: the judges confine themselves before they open.
add_test(NAME e2e.confined_first COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/confined_first.py
    ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.confined_first PROPERTIES TIMEOUT 60 LABELS e2e SKIP_RETURN_CODE 77)
