"""The revisions, each named by the version that it leads to. One that was released is never edited."""
