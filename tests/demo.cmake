# The walls between the programs, the look of the source, the scripts, and what README.md and the demo promise.
exhibit_script_test(libraries 60)
exhibit_script_test(walls 120)
exhibit_script_test(headers 120)
exhibit_script_test(format 60)
exhibit_script_test(bootstrap 60)
exhibit_script_test(skips 60)
exhibit_script_test(hook_guard 120)
exhibit_script_test(readme 300)
set_tests_properties(e2e.walls e2e.headers e2e.format e2e.bootstrap e2e.skips e2e.hook_guard e2e.readme PROPERTIES
    SKIP_RETURN_CODE 77)
# What the documents and each --help say of the source.
foreach(name documents helps)
    add_test(NAME e2e.${name}
        COMMAND ${DEBIAN_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(e2e.${name} PROPERTIES TIMEOUT 60 LABELS e2e)
endforeach()
# The demo has a build folder of its own choice: it is tried where that is this one.
if("${CMAKE_BINARY_DIR}" STREQUAL "${CMAKE_SOURCE_DIR}/build")
    exhibit_script_test(demo 240)
    set_tests_properties(e2e.walls e2e.demo PROPERTIES RESOURCE_LOCK sources) # one touches them, one would build them
endif()
