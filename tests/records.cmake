# Streams, claims, archives; trees, artifacts and the host's facts; and the base.
exhibit_unit_test(base exhibit_base)
exhibit_unit_test(archive exhibit_formats PkgConfig::ARCHIVE)
