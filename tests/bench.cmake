# What script/bench measures beside the programs. Speed is never a test.
add_executable(bench-ingest bench/ingest.c)
target_link_libraries(bench-ingest PRIVATE exhibit_record exhibit_warnings)
add_executable(bench-runs bench/runs.c)
target_link_libraries(bench-runs PRIVATE exhibit_formats exhibit_warnings)
add_executable(bench-bare bench/bare.c)
target_link_libraries(bench-bare PRIVATE exhibit_warnings)
