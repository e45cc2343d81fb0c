add_library(pack_fixture STATIC unit/test_pack_fixture.c)
target_link_libraries(pack_fixture PUBLIC exhibit_formats PRIVATE exhibit_warnings PkgConfig::CMOCKA PkgConfig::ZSTD)

exhibit_unit_test(pack pack_fixture)
exhibit_unit_test(pack_writer pack_fixture)
exhibit_unit_test(pack_hostile pack_fixture)
exhibit_unit_test(pack_forged pack_fixture PkgConfig::ZSTD)
exhibit_unit_test(pack_tables pack_fixture)
exhibit_unit_test(many_objects pack_fixture)
exhibit_unit_test(pack_salvage pack_fixture PkgConfig::ZSTD)
add_library(pack_things STATIC unit/pack_things.c)
target_link_libraries(pack_things PUBLIC pack_fixture PRIVATE exhibit_warnings PkgConfig::CMOCKA)
exhibit_unit_test(pack_copy pack_things PkgConfig::ZSTD)
exhibit_unit_test(pack_copy_damage pack_things PkgConfig::ZSTD)

# These let a test change a file between two reads, and make a rename impossible.
target_link_options(test_pack_writer PRIVATE -Wl,--wrap=pread64 -Wl,--wrap=renameat2)

# Here the process seems to have as many cores as the test wants, and reads are cut short.
exhibit_unit_test(intake pack_fixture)
target_link_options(test_intake PRIVATE -Wl,--wrap=pread64 -Wl,--wrap=sched_getaffinity)
