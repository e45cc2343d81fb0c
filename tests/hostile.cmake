# A hostile world around the recorder: bad commands, leftovers, awkward machines, secrets, wrong options.
foreach(subject flood count_children echo_bytes litter storm hydra leaderless strangers never_reaps successor)
    add_executable(${subject} subjects/${subject}.c)
    target_link_libraries(${subject} PRIVATE exhibit_warnings)
    # Subjects are measured: what a sanitizer starts or keeps in them is not theirs.
    target_compile_options(${subject} PRIVATE -fno-sanitize=all)
    target_link_options(${subject} PRIVATE -fno-sanitize=all)
endforeach()

add_library(odd_libc SHARED subjects/odd_libc.c)
target_link_libraries(odd_libc PRIVATE exhibit_warnings)
target_compile_options(odd_libc PRIVATE -fno-sanitize=all)
target_link_options(odd_libc PRIVATE -fno-sanitize=all)
set_target_properties(odd_libc PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

add_test(NAME e2e.no_trace COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/no_trace.py
    ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.no_trace PROPERTIES TIMEOUT 120 LABELS e2e)

# The tests read bundles with the independent reader: Debian's Python has the packages that it needs.
foreach(name commands leftovers machines storms awkward secrets options matchers descriptors)
    add_test(NAME e2e.${name}
        COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 180 LABELS e2e)
endforeach()
set_tests_properties(e2e.matchers PROPERTIES TIMEOUT 900) # with sanitizers each of its 600 judgements takes its time
set_tests_properties(e2e.storms PROPERTIES TIMEOUT 400) # storms, where a fork may take a millisecond
