exhibit_unit_test(verify_surroundings exhibit_verify)
# Real sandboxes and small launchers around the recorder, with real programs.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(name launchers candidates)
    add_test(NAME e2e.${name}
        COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 180 LABELS e2e)
endforeach()
