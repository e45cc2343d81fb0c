#include "record/phase.h"

int phase_put(struct journal *journal, const char *trial, Exhibit__PhaseName name, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 0);
    Exhibit__Phase phase = EXHIBIT__PHASE__INIT;

    phase.trial = (char *)trial;
    phase.phase = name;
    JOURNAL_WHAT(event, phase, PHASE, &phase);
    return journal_put(journal, &event, NULL, 0, err);
}
