# YAML, plans and oracles.
add_library(plan_fixture STATIC unit/test_plan_fixture.c)
target_link_libraries(plan_fixture PUBLIC exhibit_formats PRIVATE exhibit_warnings PkgConfig::CMOCKA)

exhibit_unit_test(yaml exhibit_formats)
exhibit_unit_test(oracle exhibit_formats)
exhibit_unit_test(oracle_shows exhibit_formats)
target_compile_definitions(test_oracle_shows PRIVATE DOCUMENTS="${CMAKE_SOURCE_DIR}/docs")
exhibit_unit_test(plan plan_fixture)
exhibit_unit_test(plan_refusals plan_fixture)
exhibit_unit_test(plan_page exhibit_formats)
target_compile_definitions(test_plan_page PRIVATE DOCUMENTS="${CMAKE_SOURCE_DIR}/docs"
    FORMATS="${CMAKE_SOURCE_DIR}/formats")
foreach(name oracle plan)
    target_compile_definitions(test_${name} PRIVATE EXPERIMENTS="${CMAKE_SOURCE_DIR}/experiments"
        CANDIDATES="${CMAKE_SOURCE_DIR}/candidates")
endforeach()
