"""Pages whose rows a user has deleted."""

from larbinpy.database.writing.samples import forget_deleted_samples
from larbinpy.database.writing.tables import Tables


def forget_deleted(base: Tables) -> int:
    """Remove what belongs to deleted rows of `page`, and return the number of these rows.

    The first copy of a deleted page takes its place.
    """
    removed = 0
    for table in ("content", "body", "change"):
        left = f"FROM {table} WHERE page NOT IN (SELECT id FROM page)"
        (count,) = base.execute(f"SELECT count(*) {left}").fetchone()
        if count:
            base.execute(f"DELETE {left}")
        removed += count
    copies = base.execute(
        "SELECT same_as, min(id) FROM page WHERE same_as NOT IN "
        "(SELECT id FROM page WHERE same_as IS NULL) GROUP BY same_as"
    ).fetchall()
    for original, first in copies:
        base.execute("UPDATE page SET same_as = nullif(?, id) WHERE same_as = ?", (first, original))
    base.execute("UPDATE page SET near = NULL WHERE near NOT IN (SELECT id FROM page)")
    return removed + forget_deleted_samples(base)
