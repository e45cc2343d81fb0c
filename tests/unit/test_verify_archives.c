/*
 * Archives of both modes under what the oracle excepts (DECISION 6.4), and their members derived again (FORMAT 7.4).
 */
#include "verify/binding.h"
#include "verify_asked.h"

#define RULE "useful.archives"
#define TOLD "build: oracle line 4: archive *.tgz: "
#define ALL "archives: [{path: '*.tgz'}]"
#define EXCEPT(WHAT) "archives: [{path: '*.tgz', except: {" WHAT "}}]"

static Exhibit__Artifact *archive_of(struct stage *s, uint32_t run)
{
    return SCENE_FIND(s->scene, run, ARTIFACT, 0)->artifact;
}

/* Member b of a run's archive. */
static Exhibit__ArchiveMember *b_of(struct stage *s, uint32_t run)
{
    return archive_of(s, run)->members[1];
}

static Exhibit__MemberOwner *own(Exhibit__ArchiveMember *member)
{
    member->owner = scene_zero(sizeof *member->owner);
    exhibit__member_owner__init(member->owner);
    member->owner->uid = 7;
    member->owner->gid = 8;
    member->owner->uname = scene_text("al");
    member->owner->gname = scene_text("gr");
    return member->owner;
}

static void all_owned(struct stage *s)
{
    static const uint32_t runs[] = {SCENE_CASE_BASELINE, SCENE_CASE_AGAIN, SCENE_CASE_STRICT};

    for (size_t run = 0; run < 3; run++)
        for (size_t i = 0; i < 2; i++)
            (void)own(archive_of(s, runs[run])->members[i]);
}

static void other_uid(struct stage *s)
{
    all_owned(s);
    b_of(s, SCENE_CASE_STRICT)->owner->uid = 9;
}

static void other_gid(struct stage *s)
{
    all_owned(s);
    b_of(s, SCENE_CASE_STRICT)->owner->gid = 9;
}

static void other_uname(struct stage *s)
{
    all_owned(s);
    b_of(s, SCENE_CASE_STRICT)->owner->uname.data[0] = 'b';
}

static void other_gname(struct stage *s)
{
    all_owned(s);
    b_of(s, SCENE_CASE_STRICT)->owner->gname.len = 1;
}

static void one_owned(struct stage *s)
{
    (void)own(b_of(s, SCENE_CASE_STRICT));
}

static void other_mtime(struct stage *s)
{
    b_of(s, SCENE_CASE_STRICT)->mtime_s++;
}

static void other_both(struct stage *s)
{
    other_uid(s);
    other_mtime(s);
}

/* The tool's own: the second baseline differs from the first too, in the same field with another value. */
static void own_mtime(struct stage *s)
{
    other_mtime(s);
    b_of(s, SCENE_CASE_AGAIN)->mtime_s += 2;
}

static void own_uid(struct stage *s)
{
    other_uid(s);
    b_of(s, SCENE_CASE_AGAIN)->owner->uid = 10;
}

/* The baselines differ in what is not compared: that excuses nothing else. */
static void own_mtime_and_mode(struct stage *s)
{
    own_mtime(s);
    b_of(s, SCENE_CASE_STRICT)->mode = 0600;
}

static void strict_alone(struct stage *s)
{
    Exhibit__ArchiveMember *b = b_of(s, SCENE_CASE_STRICT);

    free(b->path.data);
    b->path = scene_text("c");
}

static void no_path(struct stage *s)
{
    b_of(s, SCENE_CASE_BASELINE)->path.len = 0;
    b_of(s, SCENE_CASE_AGAIN)->path.len = 0;
    b_of(s, SCENE_CASE_STRICT)->path.len = 0;
    b_of(s, SCENE_CASE_STRICT)->mode = 0600;
}

static const struct line {
    change *make;
    const char *wanted, *told;
} lines[] = {
    {NULL, ALL, ""},
    {all_owned, ALL, ""},
    {other_uid, ALL, TOLD "member \"b\" differs in owner: 7:8 \"al\":\"gr\" in baseline, 9:8 \"al\":\"gr\" in strict"},
    {other_gid, ALL, TOLD "member \"b\" differs in owner"},
    {other_uname, ALL, TOLD "member \"b\" differs in owner"},
    {other_gname, ALL, TOLD "member \"b\" differs in owner"},
    {one_owned, ALL, TOLD "member \"b\" differs in owner: none recorded in baseline, 7:8"},
    {other_uid, EXCEPT("mtime: true"), TOLD "member \"b\" differs in owner"},
    {other_uid, EXCEPT("owner: true"), ""},
    {one_owned, EXCEPT("owner: true"), ""},
    {other_mtime, ALL, TOLD "member \"b\" differs in mtime: 1000 in baseline, 1001 in strict"},
    {other_mtime, EXCEPT("owner: true"), TOLD "member \"b\" differs in mtime"},
    {other_mtime, EXCEPT("mtime: true"), ""},
    {other_both, EXCEPT("owner: true"), TOLD "member \"b\" differs in mtime"},
    {other_both, EXCEPT("mtime: true"), TOLD "member \"b\" differs in owner"},
    {other_both, EXCEPT("mtime: true, owner: true"), ""},
    {other_both, EXCEPT("paths: [b]"), ""},
    {other_both, EXCEPT("paths: [a]"), TOLD "member \"b\" differs in mtime"},
    {other_both, EXCEPT("paths: [./b, b/, x]"), TOLD "member \"b\" differs in mtime"},
    {NULL, EXCEPT("paths: [a, b]"), TOLD "nothing is left of the baseline's members to compare"},
    {NULL, EXCEPT("paths: ['*']"), TOLD "nothing is left of the baseline's members to compare"},
    {own_mtime, ALL, ""},
    {own_uid, ALL, ""},
    {own_mtime_and_mode, ALL, ""},
    {own_mtime_and_mode, EXCEPT("mtime: true"), TOLD "member \"b\" differs in mode: 0644 in baseline, 0600 in strict"},
    {strict_alone, ALL, TOLD "member \"b\" is in baseline alone"},
    {strict_alone, EXCEPT("paths: [b]"), TOLD "member \"c\" is in strict alone"},
    {strict_alone, EXCEPT("paths: [b, c]"), ""},
    {no_path, EXCEPT("paths: ['*', a]"), TOLD "member \"\" differs in mode"},
};

static void archives_are_equal_but_for_what_is_excepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        asked_check(lines[i].make, lines[i].wanted, RULE, lines[i].told);
}

/* ---- members derived again ---- */

/* What is found of the scene after a change; `out` is to be released. */
static void bind(change *make, struct findings *out)
{
    struct stage stage = set_up(make);
    struct evidence evidence = scene_evidence(stage.scene);
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct binding binding = {.evidence = &evidence, .receipt = &receipt, .findings = out};
    struct err err = {0};

    scene_seal(stage.scene);
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, (uint8_t *)(uintptr_t) "0123456789abcdef"};
    if (ledger_read(&evidence, &binding.ledger, &err) < 0 || binding_check(&binding, &err) < 0)
        fail_msg("%s", err.text);
    ledger_done(&binding.ledger);
    scene_free(stage.scene);
}

/* As the archive in the scene tells it. */
static Exhibit__MemberOwner *own_as_packed(struct stage *s)
{
    Exhibit__MemberOwner *owner = own(b_of(s, SCENE_CASE_STRICT));

    owner->uid = owner->gid = 0;
    owner->uname.len = owner->gname.len = 0;
    return owner;
}

static void packed(struct stage *s)
{
    (void)own_as_packed(s);
}

static void packed_uid(struct stage *s)
{
    own_as_packed(s)->uid = 1;
}

static void packed_gid(struct stage *s)
{
    own_as_packed(s)->gid = 1;
}

static void packed_uname(struct stage *s)
{
    own_as_packed(s)->uname.len = 2;
}

static void packed_gname(struct stage *s)
{
    own_as_packed(s)->gname.len = 2;
}

static void owners_are_derived_from_the_archive_again(void **state)
{
    static change *const fits[] = {NULL, packed}; /* one without is of an older recording */
    static change *const lies[] = {packed_uid, packed_gid, packed_uname, packed_gname};
    struct findings findings = {0};

    (void)state;
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++)
        bind(fits[i], &findings);
    if (findings.count > 0)
        fail_msg("%s", findings.texts[0]);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        bind(lies[i], &findings);
        assert_int_equal(findings.count, 1);
        assert_non_null(strstr(findings.texts[0], ": member 2 of the archive is not what is recorded"));
        finding_done(&findings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_are_equal_but_for_what_is_excepted),
        cmocka_unit_test(owners_are_derived_from_the_archive_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
