"""What `dealing` announces to the apps above it."""

from django.dispatch import Signal

#: Sent by `dealing.log` inside the transaction that appends, once the projections are saved. A receiver that raises
#: undoes the whole of it. Keyword arguments:
#:
#: table   the locked `Table`
#: row     the appended `TableEvent`; for imported hands the last row of the batch
#: event   the `dealing.rules.events.Event` of that row
#: shoe    the `Shoe` projection the event belongs to
#: hand    the `Hand` projection the event belongs to, or None
#: hands   every `Hand` projection made or changed, in log order
#: shoes   every `Shoe` projection made or changed, in log order
#: gone    (shoe number, hand number) of each hand that an amendment took away
#: same    whether each of these hands and shoes has the findings that it had before; left out where it is not known
event_recorded = Signal()

#: Asked with the arguments of `event_recorded` before an event is written by itself, without a transaction (see
#: `dealing.log.Writer.as_kept`). A receiver that has something to write with it answers True; the event is then
#: recorded the long way. Whoever receives `event_recorded` and answers nothing here does not hear of such an event.
event_matters = Signal()

#: Sent when an event that mattered to nobody is in the log. Keyword arguments:
#:
#: table   the `Table`
event_written = Signal()

#: Sent by `dealing.projections.rebuild_table` inside its transaction, when a table's shoes and hands were made again. A
#: receiver answers what it put right, in a line, or an empty text. Keyword arguments:
#:
#: table   the locked `Table`
#: actor   who is said to have done it
table_rebuilt = Signal()

#: Sent by `dealing.shifts` inside the transaction that changes who deals, or when. Keyword arguments:
#:
#: table   the locked `Table`
#: shifts  its `DealerShift`s that were made or changed
#: actor   who did it
shifts_changed = Signal()

#: Asked before entries are taken back. A receiver answers why they carry out a decision, in the user's language, else
#: an empty text. Keyword arguments:
#:
#: table   the `Table`
#: shoe    the number of the shoe the entries belong to
#: seqs    their positions in the table's log
entry_decided = Signal()
