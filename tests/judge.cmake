# The recorder's own judge: its rules, outcomes, lines and matchers over a recording in memory.
# Only what these tests are about, so that they build alone.
file(GLOB judge_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/record/judge*.c)
add_library(judge_scene STATIC unit/judge_scene.c unit/judge_scene_good.c ${judge_sources}
    ${CMAKE_SOURCE_DIR}/record/roles.c)
target_link_libraries(judge_scene PUBLIC exhibit_formats PRIVATE exhibit_warnings PkgConfig::CMOCKA)
foreach(part claim complete observers rules outcomes lines match shows)
    exhibit_unit_test(judge_${part} judge_scene)
endforeach()
