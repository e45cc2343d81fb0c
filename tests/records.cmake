# Streams, claims, archives; trees, artifacts and the host's facts; and the base.
exhibit_unit_test(base exhibit_base)
exhibit_unit_test(message exhibit_formats)
exhibit_unit_test(stream exhibit_formats)
exhibit_unit_test(events exhibit_formats)
exhibit_unit_test(claim exhibit_formats)
exhibit_unit_test(archive PkgConfig::ARCHIVE exhibit_formats)
exhibit_unit_test(archive_bounds PkgConfig::ARCHIVE exhibit_formats)
exhibit_unit_test(archive_deflate exhibit_formats)
set_tests_properties(unit.archive_deflate PROPERTIES TIMEOUT 180) # 4 GiB are inflated: 8 s of one core

# Only what these tests are about, so that they build alone.
add_library(exhibit_records_tested STATIC ../record/walk.c ../record/tree.c ../record/tree_freeze.c
    ../record/tree_remove.c ../record/artifacts.c ../record/host.c ../record/needles.c ../record/secrets.c)
target_link_libraries(exhibit_records_tested PUBLIC exhibit_formats PRIVATE exhibit_warnings)
exhibit_unit_test(tree exhibit_records_tested)
exhibit_unit_test(tree_kept exhibit_records_tested)
exhibit_unit_test(tree_change exhibit_records_tested)
exhibit_unit_test(artifacts PkgConfig::ARCHIVE exhibit_records_tested)
target_link_options(test_artifacts PRIVATE -Wl,--wrap=file_pread_all)
exhibit_unit_test(host exhibit_records_tested)
