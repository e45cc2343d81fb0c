# The probe's own objects are without sanitizers: its tests compile what they test once more.
add_library(exhibit_probe_tested STATIC ${CMAKE_SOURCE_DIR}/record/probe/assignment.c
    ${CMAKE_SOURCE_DIR}/record/probe/proof.c)
target_link_libraries(exhibit_probe_tested PUBLIC exhibit_base PRIVATE exhibit_warnings PkgConfig::CRYPTO)
exhibit_unit_test(probe exhibit_probe_tested)

# What the scripts run; confine_try is static so that a policy for it need grant nothing else.
foreach(subject loopback_sink kill_on_udp confine_try)
    add_executable(${subject} subjects/${subject}.c)
    target_link_libraries(${subject} PRIVATE exhibit_warnings)
endforeach()
target_link_libraries(kill_on_udp PRIVATE PkgConfig::SECCOMP)
target_compile_options(confine_try PRIVATE -fno-sanitize=all)
target_link_options(confine_try PRIVATE -fno-sanitize=all -static)

exhibit_script_test(probe 180)
exhibit_script_test(confine 180)
