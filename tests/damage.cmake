# Every bit counts: damaged bundles, in one process.
exhibit_unit_test(damage exhibit_verify pack_fixture PkgConfig::ZSTD)
exhibit_unit_test(damage_large pack_fixture)
