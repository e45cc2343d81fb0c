/*
 * What the launcher does by itself, for people and for programs.
 */
#include "verify/report.h"

static void report_list(FILE *out, const char *what, const struct surroundings_list *list)
{
    if (list->count == 0)
        return;
    (void)fprintf(out, "%-12s %s", "", what);
    for (size_t i = 0; i < list->count && i < SURROUNDINGS_KEPT; i++)
        (void)fprintf(out, "%s %s", i > 0 ? "," : "", list->names[i]);
    if (list->count > SURROUNDINGS_KEPT)
        (void)fprintf(out, ", and %zu more", list->count - SURROUNDINGS_KEPT);
    (void)fputc('\n', out);
}

void report_launcher(FILE *out, const struct surroundings *from)
{
    bool quiet = from->folder == NULL && !from->unseen &&
                 from->set.count + from->changed.count + from->removed.count + from->passed.count == 0;

    if (!from->ran)
        return;
    (void)fprintf(out, "%-12s %s\n", "launcher",
                  !from->told                      ? "by itself (it passes no output on, so its variables are unknown):"
                  : quiet && from->left.count == 0 ? "changes and leaves nothing by itself"
                                                   : "by itself, whatever the command:");
    if (from->folder != NULL)
        (void)fprintf(out, "%-12s runs the command in %s\n", "", from->folder);
    report_list(out, "sets", &from->set);
    report_list(out, "changes", &from->changed);
    report_list(out, "removes", &from->removed);
    report_list(out, "makes in scratch and removes again", &from->passed);
    if (from->unseen)
        (void)fprintf(out, "%-12s may make and remove more in scratch than was seen\n", "");
    report_list(out, "leaves in scratch", &from->left);
}

static json_t *report_names_json(const struct surroundings_list *list)
{
    json_t *names = json_array();

    for (size_t i = 0; names != NULL && i < list->count && i < SURROUNDINGS_KEPT; i++)
        if (json_array_append_new(names, json_string(list->names[i])) < 0) {
            json_decref(names);
            return NULL;
        }
    return names;
}

json_t *report_launcher_json(const struct surroundings *from)
{
    if (!from->ran)
        return json_null();
    return json_pack("{s:b, s:s?, s:o, s:o, s:o, s:o, s:o, s:b}", "told", from->told, "folder", from->folder, "sets",
                     report_names_json(&from->set), "changes", report_names_json(&from->changed), "removes",
                     report_names_json(&from->removed), "leaves", report_names_json(&from->left), "passing",
                     report_names_json(&from->passed), "unseen", from->unseen);
}
